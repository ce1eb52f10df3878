//! Tables for the terminal.

use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table, TableComponent};

/// An empty table: heads, a rule below them, and nothing else between the cells than space.
pub fn table(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_style(TableComponent::HeaderLines, '-').set_header(heads.iter().copied());
    table
}

/// Numbers stand below each other.
pub fn align_right(table: &mut Table, columns: Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// `10000` as `10 000`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(" ")
}
