//! Typed, bounds-checked reading of accessors: strided, normalised, sparse.

use gltf::json;
use gltf::json::accessor::{ComponentType, Type};
use gltf::json::validation::Checked;

use super::buffers::Buffers;
use super::container::Document;
use crate::import::Refusal;

/// A document with the bytes that its accessors read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) document: &'a Document,
    pub(super) buffers: &'a Buffers<'a>,
    pub(super) file_bytes: usize,
}

/// An accessor whose every read was checked to lie inside of its buffer.
pub(super) struct Access<'a> {
    /// Number of elements.
    pub(super) count: usize,
    /// Shape of an element.
    pub(super) shape: Type,
    /// Number type of its components.
    pub(super) component: ComponentType,
    normalized: bool,
    dense: Option<Strided<'a>>,
    sparse: Option<Sparse<'a>>,
}

#[derive(Clone, Copy)]
struct Strided<'a> {
    bytes: &'a [u8],
    stride: usize,
}

struct Sparse<'a> {
    count: usize,
    indices: Strided<'a>,
    index_type: ComponentType,
    values: Strided<'a>,
}

/// Bytes of a buffer view and the stride it asks for.
type ViewBytes<'a> = (&'a [u8], Option<usize>);

/// Why an accessor cannot be read.
enum Trouble {
    /// The file is wrong.
    Refused(Refusal),
    /// The file may be right, but this importer cannot get at the data.
    Unreadable(&'static str),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<'a> Source<'a> {
    /// Opens accessor `index`. `user` says in an error what it is read for. The inner error says why the data of a
    /// sound file are out of reach.
    pub(super) fn open(self, index: usize, user: &str) -> Result<Result<Access<'a>, &'static str>, Refusal> {
        match self.try_open(index, user) {
            Ok(access) => Ok(Ok(access)),
            Err(Trouble::Unreadable(reason)) => Ok(Err(reason)),
            Err(Trouble::Refused(refusal)) => Err(refusal),
        }
    }

    fn try_open(self, index: usize, user: &str) -> Result<Access<'a>, Trouble> {
        let bad = |reason: String| Refusal::Accessor { accessor: index, user: user.to_owned(), reason };
        let accessors = &self.document.accessors;
        let accessor = accessors.get(index).ok_or_else(|| Refusal::Reference {
            from: user.to_owned(),
            kind: "accessor",
            index,
            have: accessors.len(),
        })?;
        let (Checked::Valid(component), Checked::Valid(shape)) = (&accessor.component_type, &accessor.shape)
        else {
            return Err(bad("its type or component type is not one of the format".to_owned()).into());
        };
        let (component, shape) = (component.0, *shape);
        let element = component.size() * shape.multiplicity();
        let count = to_usize(accessor.count);
        if count == 0 {
            return Err(bad("it has no elements; at least one is needed".to_owned()).into());
        }
        let dense = match accessor.buffer_view {
            Some(view) => {
                let (bytes, stride) = self.view(view.value(), user, index)?;
                let offset = to_usize(accessor.byte_offset);
                Some(strided(bytes, offset, stride.unwrap_or(element), element, count).map_err(bad)?)
            }
            None => None,
        };
        // Zeros that no byte of the file backs must not be a way to fill the memory.
        if dense.is_none() && count.saturating_mul(element) > self.file_bytes {
            return Err(bad(format!("it claims {count} elements that no data back")).into());
        }
        let sparse = match &accessor.sparse {
            Some(sparse) => Some(self.sparse(sparse, element, count, user, index)?),
            None => None,
        };
        Ok(Access { count, shape, component, normalized: accessor.normalized, dense, sparse })
    }

    fn view(self, view: usize, user: &str, accessor: usize) -> Result<ViewBytes<'a>, Trouble> {
        let views = &self.document.buffer_views;
        let found = views.get(view).ok_or_else(|| Refusal::Reference {
            from: format!("accessor {accessor}"),
            kind: "buffer view",
            index: view,
            have: views.len(),
        })?;
        let bytes = match self.buffers.get(found.buffer.value())? {
            Some(bytes) => bytes,
            // The view's own buffer is the uncompressed fallback, which may be left out.
            None if found.extensions.meshopt.is_some() => {
                return Err(Trouble::Unreadable("compressed by EXT_meshopt_compression"));
            }
            None => return Err(Trouble::Unreadable("its data are not in the file")),
        };
        let begin = to_usize(found.byte_offset);
        let end = begin.checked_add(to_usize(found.byte_length));
        let Some(bytes) = end.and_then(|end| bytes.get(begin..end)) else {
            return Err(Refusal::Accessor {
                accessor,
                user: user.to_owned(),
                reason: format!("its buffer view {view} ends behind its buffer of {} bytes", bytes.len()),
            }
            .into());
        };
        Ok((bytes, found.byte_stride))
    }

    fn sparse(
        self,
        sparse: &json::accessor::sparse::Sparse,
        element: usize,
        count: usize,
        user: &str,
        index: usize,
    ) -> Result<Sparse<'a>, Trouble> {
        let bad = |reason: String| Refusal::Accessor { accessor: index, user: user.to_owned(), reason };
        let Checked::Valid(index_type) = &sparse.indices.component_type else {
            return Err(bad("the type of its sparse indices is not one of the format".to_owned()).into());
        };
        let replaced = to_usize(sparse.count.0);
        if replaced == 0 || replaced > count {
            return Err(bad(format!("{replaced} of {count} elements are sparse")).into());
        }
        let (index_bytes, _) = self.view(sparse.indices.buffer_view.value(), user, index)?;
        let (value_bytes, _) = self.view(sparse.values.buffer_view.value(), user, index)?;
        let index_type = index_type.0;
        let size = index_type.size();
        let indices = strided(index_bytes, to_usize(sparse.indices.byte_offset.0), size, size, replaced)
            .map_err(bad)?;
        let values = strided(value_bytes, to_usize(sparse.values.byte_offset.0), element, element, replaced)
            .map_err(bad)?;
        let sparse = Sparse { count: replaced, indices, index_type, values };
        let mut last = None;
        for at in 0..replaced {
            let target = sparse.target(at);
            if target >= count || last.is_some_and(|last| target <= last) {
                return Err(bad(format!("its sparse indices must rise and stay below {count}")).into());
            }
            last = Some(target);
        }
        Ok(sparse)
    }
}

fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Checks that `count` elements lie inside of `bytes`.
fn strided(
    bytes: &[u8],
    offset: usize,
    stride: usize,
    element: usize,
    count: usize,
) -> Result<Strided<'_>, String> {
    if stride < element {
        return Err(format!("its stride of {stride} bytes is less than its element of {element}"));
    }
    let need = count
        .checked_sub(1)
        .and_then(|steps| steps.checked_mul(stride))
        .and_then(|last| last.checked_add(element))
        .and_then(|length| length.checked_add(offset));
    match (need, bytes.get(offset..)) {
        (Some(need), Some(rest)) if need <= bytes.len() => Ok(Strided { bytes: rest, stride }),
        _ => Err(format!("{count} elements from byte {offset} end behind its data of {} bytes", bytes.len())),
    }
}

impl Sparse<'_> {
    fn target(&self, at: usize) -> usize {
        read_integer(self.indices.bytes, at.saturating_mul(self.indices.stride), self.index_type) as usize
    }
}

fn read_integer(bytes: &[u8], at: usize, component: ComponentType) -> u32 {
    let byte = |offset: usize| bytes.get(at.saturating_add(offset)).copied().unwrap_or(0);
    match component {
        ComponentType::U8 | ComponentType::I8 => byte(0).into(),
        ComponentType::U16 | ComponentType::I16 => u16::from_le_bytes([byte(0), byte(1)]).into(),
        ComponentType::U32 | ComponentType::F32 => u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]),
    }
}

/// A component as a real number; the divisors are those of the format's section on accessor data types.
fn read_real(bytes: &[u8], at: usize, component: ComponentType, normalized: bool) -> f32 {
    let bits = read_integer(bytes, at, component);
    let value = match component {
        ComponentType::F32 => return f32::from_bits(bits),
        ComponentType::I8 => f32::from((bits as u8).cast_signed()),
        ComponentType::I16 => f32::from((bits as u16).cast_signed()),
        ComponentType::U8 | ComponentType::U16 | ComponentType::U32 => bits as f32,
    };
    if !normalized {
        return value;
    }
    match component {
        ComponentType::I8 => (value / 127.0).max(-1.0),
        ComponentType::U8 => value / 255.0,
        ComponentType::I16 => (value / 32767.0).max(-1.0),
        ComponentType::U16 => value / 65535.0,
        ComponentType::U32 | ComponentType::F32 => value / u32::MAX as f32,
    }
}

impl Access<'_> {
    /// All elements as `N` real numbers each; `N` must be the shape's number of components.
    pub(super) fn reals<const N: usize>(&self) -> impl Iterator<Item = [f32; N]> + '_ {
        let size = self.component.size();
        self.elements().map(move |(bytes, at)| {
            std::array::from_fn(|i| {
                read_real(bytes, at.saturating_add(i * size), self.component, self.normalized)
            })
        })
    }

    /// All elements as `N` unsigned integers each.
    pub(super) fn integers<const N: usize>(&self) -> impl Iterator<Item = [u32; N]> + '_ {
        let size = self.component.size();
        self.elements().map(move |(bytes, at)| {
            std::array::from_fn(|i| read_integer(bytes, at.saturating_add(i * size), self.component))
        })
    }

    /// Where each element lies; elements without data lie behind the end of an empty slice, which reads as zero.
    fn elements(&self) -> impl Iterator<Item = (&[u8], usize)> + '_ {
        let mut replaced = 0;
        (0..self.count).map(move |index| {
            if let Some(sparse) = &self.sparse
                && replaced < sparse.count
                && sparse.target(replaced) == index
            {
                let at = replaced.saturating_mul(sparse.values.stride);
                replaced += 1;
                return (sparse.values.bytes, at);
            }
            match self.dense {
                Some(dense) => (dense.bytes, index.saturating_mul(dense.stride)),
                None => (&[][..], 0),
            }
        })
    }
}
