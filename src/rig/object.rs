//! JSON objects that are objects: derived readers take a list of the values in their order, too, and nobody means that.

use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What is read from an object only.
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Formats without names have nothing but lists.
        if from.is_human_readable() {
            from.deserialize_map(Reader(PhantomData)).map(Self)
        } else {
            T::deserialize(from).map(Self)
        }
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of names and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Objects by name.
pub(super) fn by_name<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let objects = BTreeMap::<String, Object<T>>::deserialize(from)?;
    Ok(objects.into_iter().map(|(name, Object(value))| (name, value)).collect())
}

/// A list of objects.
pub(super) fn in_list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Object<T>>::deserialize(from)?;
    Ok(objects.into_iter().map(|Object(value)| value).collect())
}
