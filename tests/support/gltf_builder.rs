//! Small glTF files written by hand.

use serde_json::{Value, json};

/// A document and its buffer.
#[derive(Clone)]
pub struct Builder {
    pub document: Value,
    bytes: Vec<u8>,
    second: Option<Value>,
}

impl Builder {
    pub fn new() -> Self {
        let document = json!({
            "asset": { "version": "2.0" }, "nodes": [], "skins": [], "meshes": [], "animations": [],
            "accessors": [], "bufferViews": []
        });
        Self { document, bytes: Vec::new(), second: None }
    }

    fn push(&mut self, list: &str, value: Value) -> usize {
        let list = self.document[list].as_array_mut().expect("a list");
        list.push(value);
        list.len() - 1
    }

    pub fn node(&mut self, node: Value) -> usize {
        self.push("nodes", node)
    }

    pub fn skin(&mut self, skin: Value) -> usize {
        self.push("skins", skin)
    }

    pub fn mesh(&mut self, primitives: Vec<Value>) -> usize {
        self.push("meshes", json!({ "primitives": primitives }))
    }

    pub fn view(&mut self, bytes: &[u8], stride: Option<usize>) -> usize {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(stride) = stride {
            view["byteStride"] = stride.into();
        }
        self.bytes.extend_from_slice(bytes);
        self.push("bufferViews", view)
    }

    pub fn accessor(&mut self, accessor: Value) -> usize {
        self.push("accessors", accessor)
    }

    /// Tightly packed floats of a shape.
    pub fn floats(&mut self, shape: &str, values: &[f32]) -> usize {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let per = match shape {
            "SCALAR" => 1,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => panic!("shape {shape}"),
        };
        let view = self.view(&bytes, None);
        self.accessor(
            json!({ "bufferView": view, "componentType": 5126, "type": shape, "count": values.len() / per }),
        )
    }

    /// Tightly packed integers, given as bytes.
    pub fn integers(
        &mut self,
        shape: &str,
        component: u32,
        normalized: bool,
        count: usize,
        bytes: &[u8],
    ) -> usize {
        let view = self.view(bytes, None);
        self.accessor(json!({
            "bufferView": view, "componentType": component, "type": shape, "count": count, "normalized": normalized
        }))
    }

    /// One channel with a sampler of its own.
    pub fn clip(&mut self, name: &str, channels: &[(usize, &str, &str, usize, usize)]) -> usize {
        let mut samplers = Vec::new();
        let mut list = Vec::new();
        for (node, path, interpolation, input, output) in channels {
            list.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
        }
        self.push("animations", json!({ "name": name, "samplers": samplers, "channels": list }))
    }

    /// Three vertices, all bound to palette entry `joint`, as a primitive.
    pub fn triangle(&mut self, points: &[[f32; 3]; 3], joint: u8) -> Value {
        let position = self.floats("VEC3", points.as_flattened());
        let joints = self.integers("VEC4", 5121, false, 3, &[joint, 0, 0, 0].repeat(3));
        let weights = self.floats("VEC4", &[1.0, 0.0, 0.0, 0.0].repeat(3));
        json!({ "attributes": { "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights } })
    }

    /// As GLB with one more buffer after that of the binary chunk.
    #[allow(dead_code)]
    pub fn glb_with_second_buffer(mut self, buffer: Value) -> Vec<u8> {
        self.second = Some(buffer);
        self.glb()
    }

    /// As GLB.
    pub fn glb(mut self) -> Vec<u8> {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        if !self.bytes.is_empty() {
            let mut buffers = vec![json!({ "byteLength": self.bytes.len() })];
            buffers.extend(self.second.take());
            self.document["buffers"] = buffers.into();
        }
        for list in ["nodes", "skins", "meshes", "animations", "accessors", "bufferViews"] {
            if self.document[list].as_array().is_some_and(Vec::is_empty) {
                self.document.as_object_mut().expect("an object").remove(list);
            }
        }
        let mut text = serde_json::to_vec(&self.document).expect("JSON");
        while !text.len().is_multiple_of(4) {
            text.push(b' ');
        }
        let mut out = b"glTF".to_vec();
        let total = 12 + 8 + text.len() + if self.bytes.is_empty() { 0 } else { 8 + self.bytes.len() };
        out.extend(2_u32.to_le_bytes());
        out.extend((total as u32).to_le_bytes());
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(b"JSON");
        out.extend(text);
        if !self.bytes.is_empty() {
            out.extend((self.bytes.len() as u32).to_le_bytes());
            out.extend(b"BIN\0");
            out.extend(self.bytes);
        }
        out
    }
}
