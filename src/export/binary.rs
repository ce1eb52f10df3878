//! Binary data of a GLB, the views and accessors that describe it, and the container.

use serde_json::{Value, json};

use super::ExportError;

/// Data after data, each aligned to four bytes.
#[derive(Debug, Default)]
pub(super) struct Binary {
    pub bytes: Vec<u8>,
    pub views: Vec<Value>,
    pub accessors: Vec<Value>,
}

/// What a view is for: the format wants it said for vertices and indices, and not said for all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Vertices,
    Indices,
    Other,
}

impl Binary {
    /// Appends to data and descriptions that are there already.
    pub fn after(bytes: Vec<u8>, views: Vec<Value>, accessors: Vec<Value>) -> Self {
        Self { bytes, views, accessors }
    }

    pub fn view(&mut self, bytes: &[u8], target: Target) -> usize {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        match target {
            Target::Vertices => view["target"] = json!(34962),
            Target::Indices => view["target"] = json!(34963),
            Target::Other => {}
        }
        self.bytes.extend_from_slice(bytes);
        self.views.push(view);
        self.views.len() - 1
    }

    fn accessor(&mut self, view: usize, component: u32, count: usize, shape: &str) -> usize {
        self.accessors.push(json!({
            "bufferView": view, "componentType": component, "count": count, "type": shape
        }));
        self.accessors.len() - 1
    }

    /// 32-bit floats; with bounds where the format wants them.
    pub fn floats<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        shape: &str,
        target: Target,
        bounds: bool,
    ) -> usize {
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let view = self.view(&bytes, target);
        let at = self.accessor(view, 5126, values.len(), shape);
        if bounds {
            let fold = |start: f32, of: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..N).map(|k| values.iter().map(|value| value[k]).fold(start, of)).collect()
            };
            self.accessors[at]["min"] = json!(fold(f32::INFINITY, f32::min));
            self.accessors[at]["max"] = json!(fold(f32::NEG_INFINITY, f32::max));
        }
        at
    }

    /// 16-bit quads.
    pub fn shorts(&mut self, values: &[[u16; 4]]) -> usize {
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let view = self.view(&bytes, Target::Vertices);
        self.accessor(view, 5123, values.len(), "VEC4")
    }

    /// 32-bit indices.
    pub fn indices(&mut self, values: &[u32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let view = self.view(&bytes, Target::Indices);
        self.accessor(view, 5125, values.len(), "SCALAR")
    }

    /// Puts what it holds into the document, which loses its other buffers, and wraps both up.
    pub fn into_glb(mut self, mut document: Value) -> Result<Vec<u8>, ExportError> {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        // Lists may not be empty.
        if !self.bytes.is_empty() {
            document["buffers"] = json!([{ "byteLength": self.bytes.len() }]);
            document["bufferViews"] = Value::Array(self.views);
            document["accessors"] = Value::Array(self.accessors);
        }
        let mut text = document.to_string().into_bytes();
        while !text.len().is_multiple_of(4) {
            text.push(b' ');
        }
        let chunk = |data: &[u8]| if data.is_empty() { 0 } else { 8 + data.len() };
        let whole = 12 + chunk(&text) + chunk(&self.bytes);
        let Ok(length) = u32::try_from(whole) else { return Err(ExportError::Size { bytes: whole }) };
        let mut glb = Vec::with_capacity(whole);
        glb.extend_from_slice(b"glTF");
        glb.extend_from_slice(&2u32.to_le_bytes());
        glb.extend_from_slice(&length.to_le_bytes());
        for (kind, data) in [(b"JSON", &text), (b"BIN\0", &self.bytes)] {
            if !data.is_empty() {
                glb.extend_from_slice(&(data.len() as u32).to_le_bytes());
                glb.extend_from_slice(kind);
                glb.extend_from_slice(data);
            }
        }
        Ok(glb)
    }
}
