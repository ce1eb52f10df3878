//! How much memory a document will take, counted without building any of it.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Number of elements of a list or entries of an object; 0 for anything else.
#[derive(Clone, Copy, Default)]
struct Count(usize);

/// Sum over a list of objects, and how many there are.
#[derive(Default)]
struct Each<T> {
    count: usize,
    sum: T,
}

/// Something that sums up.
trait Tally: Default {
    fn add(&mut self, other: Self);
}

impl Tally for Count {
    fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl<T: Tally> Tally for Each<T> {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum.add(other.sum);
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or an object")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
            fn visit_unit<E>(self) -> Result<Count, E> {
                Ok(Count(0))
            }
        }
        deserializer.deserialize_any(Counter)
    }
}

impl<'de, T: Tally + Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Summer<T>(PhantomData<T>);
        impl<'de, T: Tally + Deserialize<'de>> Visitor<'de> for Summer<T> {
            type Value = Each<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of objects")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Each<T>, A::Error> {
                let mut each: Each<T> = Each::default();
                while let Some(element) = list.next_element::<T>()? {
                    each.count += 1;
                    each.sum.add(element);
                }
                Ok(each)
            }
        }
        deserializer.deserialize_seq(Summer(PhantomData))
    }
}

macro_rules! tallied {
    ($($name:ident { $($field:ident: $kind:ty),* })*) => { $(
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct $name { $($field: $kind),* }
        impl Tally for $name {
            fn add(&mut self, other: Self) {
                $( self.$field.add(other.$field); )*
            }
        }
    )* };
}

tallied! {
    Node { children: Count, weights: Count }
    Skin { joints: Count }
    Animation { channels: Count, samplers: Count }
    Primitive { attributes: Count }
    Mesh { primitives: Each<Primitive> }
    Root {
        extensions_required: Count,
        extensions_used: Count,
        nodes: Each<Node>,
        skins: Each<Skin>,
        animations: Each<Animation>,
        meshes: Each<Mesh>,
        accessors: Count,
        buffer_views: Count,
        buffers: Count
    }
}

/// Bytes that parsing the document and working with it takes at most, without what its buffers hold. The numbers are
/// the sizes of the parsed types with room for lists that double while they grow, and for nodes what the hierarchy,
/// the joints and the report keep of each.
pub(super) fn cost(json: &[u8]) -> Result<usize, serde_json::Error> {
    let root: Root = serde_json::from_slice(json)?;
    let lines = [
        (root.extensions_required.0, 96),
        (root.extensions_used.0, 96),
        (root.nodes.count, 1100),
        (root.nodes.sum.children.0, 48),
        (root.nodes.sum.weights.0, 12),
        (root.skins.count, 500),
        (root.skins.sum.joints.0, 12),
        (root.animations.count, 600),
        (root.animations.sum.channels.0, 420),
        (root.animations.sum.samplers.0, 100),
        (root.meshes.count, 500),
        (root.meshes.sum.primitives.count, 700),
        (root.meshes.sum.primitives.sum.attributes.0, 120),
        (root.accessors.0, 250),
        (root.buffer_views.0, 150),
        (root.buffers.0, 300),
    ];
    Ok(lines
        .iter()
        .fold(0, |sum: usize, &(count, each)| sum.saturating_add(usize::saturating_mul(count, each))))
}
