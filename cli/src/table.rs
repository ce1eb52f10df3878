//! Tables for the terminal.

use std::fmt;
use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, TableComponent};

use crate::output::printable;

/// Rows of one line each, whatever names are in them.
pub struct Table(comfy_table::Table);

/// An empty table: heads, a rule below them, and nothing else between the cells than space.
pub fn table(heads: &[&str]) -> Table {
    let mut table = comfy_table::Table::new();
    table.load_preset(NOTHING).set_style(TableComponent::HeaderLines, '-').set_header(heads.iter().copied());
    Table(table)
}

impl Table {
    /// Adds a row.
    pub fn add_row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.0.add_row(cells.into_iter().map(|cell| printable(cell.as_ref())));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Numbers stand below each other.
pub fn align_right(table: &mut Table, columns: Range<usize>) {
    for column in columns {
        if let Some(column) = table.0.column_mut(column) {
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
