// Reads a crowd's output: headers and palettes of all formats, out of one storage buffer.
// A slot begins at `line`; a line is 64 bytes, four vec4<f32>.

struct Header {
    position: vec3<f32>,       // world position of the render root, metres
    time: f32,                 // seconds of the crowd's clock
    rotation: vec4<f32>,       // world rotation of the render root, x y z w
    probes: array<vec4<f32>, 2>, // per foot: world x and z of heel, of ball
}

// Three rows of a 3x4 matrix, translation in w.
struct Rows {
    x: vec4<f32>,
    y: vec4<f32>,
    z: vec4<f32>,
}

struct Camera {
    view_projection: mat4x4<f32>,
}

// Per instance: Handle::index, PaletteFormat::bytes, Crowd::palette_range.
struct Instance {
    character: u32,
    format: u32, // bytes of an entry: 64, 48, 32 or 16
    range: f32,
    corrected: u32, // where the skin's Crowd::corrected_entries begin in `corrected`
}

// Per character, every frame: Crowd::pose_pairs_into. Also of crowds with one pose a slot: factor 1.
struct Pair {
    previous: u32, // lines of the headers
    next: u32,
    factor: f32,
    corrections: u32, // line of the moments of both legs and of the matrices after them
}

@group(0) @binding(0) var<storage, read> lines: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> instances: array<Instance>;
@group(0) @binding(2) var<uniform> camera: Camera;
// The same buffer once more: a header is one line.
@group(0) @binding(3) var<storage, read> headers: array<Header>;
@group(0) @binding(4) var<storage, read> pairs: array<Pair>;
@group(0) @binding(5) var<storage, read> corrected: array<u32>;

fn rotate(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

// A unit quaternion, a translation and a scale as rows.
fn rows_of(q: vec4<f32>, t: vec3<f32>, scale: f32) -> Rows {
    let x = scale * rotate(q, vec3<f32>(1.0, 0.0, 0.0));
    let y = scale * rotate(q, vec3<f32>(0.0, 1.0, 0.0));
    let z = scale * rotate(q, vec3<f32>(0.0, 0.0, 1.0));
    return Rows(
        vec4<f32>(x.x, y.x, z.x, t.x),
        vec4<f32>(x.y, y.y, z.y, t.y),
        vec4<f32>(x.z, y.z, z.z, t.z),
    );
}

// 4x4, 64 bytes: columns.
fn entry_4x4(line: u32, entry: u32) -> Rows {
    let at = 4u * (line + 1u) + 4u * entry;
    let a = lines[at];
    let b = lines[at + 1u];
    let c = lines[at + 2u];
    let d = lines[at + 3u];
    return Rows(
        vec4<f32>(a.x, b.x, c.x, d.x),
        vec4<f32>(a.y, b.y, c.y, d.y),
        vec4<f32>(a.z, b.z, c.z, d.z),
    );
}

// 3x4, 48 bytes: rows.
fn entry_3x4(line: u32, entry: u32) -> Rows {
    let at = 4u * (line + 1u) + 3u * entry;
    return Rows(lines[at], lines[at + 1u], lines[at + 2u]);
}

// qt32, 32 bytes: quaternion, translation and scale.
fn entry_qt32(line: u32, entry: u32) -> Rows {
    let at = 4u * (line + 1u) + 2u * entry;
    let t = lines[at + 1u];
    return rows_of(normalize(lines[at]), t.xyz, t.w);
}

// qt16, 16 bytes: two and two signed normalised halves; translation in units of `range`.
fn entry_qt16(line: u32, entry: u32, range: f32) -> Rows {
    let words = bitcast<vec4<u32>>(lines[4u * (line + 1u) + entry]);
    let q = vec4<f32>(unpack2x16snorm(words.x), unpack2x16snorm(words.y));
    let t = vec4<f32>(unpack2x16snorm(words.z), unpack2x16snorm(words.w));
    return rows_of(normalize(q), range * t.xyz, 1.0);
}

fn entry_rows(instance: Instance, line: u32, entry: u32) -> Rows {
    switch instance.format {
        case 64u: { return entry_4x4(line, entry); }
        case 48u: { return entry_3x4(line, entry); }
        case 32u: { return entry_qt32(line, entry); }
        default: { return entry_qt16(line, entry, instance.range); }
    }
}

// q, then p.
fn times(p: vec4<f32>, q: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(p.w * q.xyz + q.w * p.xyz + cross(p.xyz, q.xyz), p.w * q.w - dot(p.xyz, q.xyz));
}

// A turn after what rows do, so much of it.
fn turned(q: vec4<f32>, rows: Rows, share: f32) -> Rows {
    let turn = rows_of(q, vec3<f32>(), share);
    return Rows(
        turn.x.x * rows.x + turn.x.y * rows.y + turn.x.z * rows.z,
        turn.y.x * rows.x + turn.y.y * rows.y + turn.y.z * rows.z,
        turn.z.x * rows.x + turn.z.y * rows.y + turn.z.z * rows.z,
    );
}

fn sum(a: Rows, b: Rows) -> Rows {
    return Rows(a.x + b.x, a.y + b.y, a.z + b.z);
}

// Where the render root is, and what takes the axes of the roots of both poses to its own.
struct Shown {
    position: vec3<f32>,
    rotation: vec4<f32>,
    from_previous: vec4<f32>,
    from_next: vec4<f32>,
}

fn shown(pair: Pair) -> Shown {
    let next = headers[pair.next];
    if pair.factor >= 1.0 {
        let none = vec4<f32>(0.0, 0.0, 0.0, 1.0);
        return Shown(next.position, next.rotation, none, none);
    }
    let previous = headers[pair.previous];
    let near = select(next.rotation, -next.rotation, dot(previous.rotation, next.rotation) < 0.0);
    let rotation = normalize(mix(previous.rotation, near, pair.factor));
    let back = vec4<f32>(-rotation.xyz, rotation.w);
    return Shown(
        mix(previous.position, next.position, pair.factor),
        rotation,
        times(back, previous.rotation),
        times(back, next.rotation),
    );
}

// An entry as it is shown, relative to the render root.
fn shown_rows(instance: Instance, pair: Pair, root: Shown, entry: u32) -> Rows {
    let next = entry_rows(instance, pair.next, entry);
    if pair.factor >= 1.0 {
        return next;
    }
    let previous = entry_rows(instance, pair.previous, entry);
    var rows = sum(
        turned(root.from_previous, previous, 1.0 - pair.factor),
        turned(root.from_next, next, pair.factor),
    );
    // A foot that comes down or lifts off between the two.
    let code = corrected[instance.corrected + entry];
    if code != 0xffffffffu {
        let first = 4u * pair.corrections;
        let moments = lines[first];
        let moment = select(moments.x, moments.y, code >> 16u == 1u);
        if moment > 0.0 {
            let rises = pair.factor < moment;
            let weight = select((1.0 - pair.factor) / (1.0 - moment), pair.factor / moment, rises);
            let at = first + 2u + 3u * (code & 0xffffu);
            let correction = Rows(lines[at], lines[at + 1u], lines[at + 2u]);
            rows = sum(rows, turned(root.from_next, correction, weight));
        }
    }
    return rows;
}

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) joints: vec4<u32>,
    @location(3) weights: vec4<f32>,
}

struct Shaded {
    @builtin(position) clip: vec4<f32>,
    @location(0) normal: vec3<f32>,
}

@vertex
fn skinned(vertex: Vertex, @builtin(instance_index) index: u32) -> Shaded {
    let instance = instances[index];
    let pair = pairs[instance.character];
    let root = shown(pair);
    var x = vec4<f32>();
    var y = vec4<f32>();
    var z = vec4<f32>();
    for (var k = 0u; k < 4u; k += 1u) {
        let rows = shown_rows(instance, pair, root, vertex.joints[k]);
        x += vertex.weights[k] * rows.x;
        y += vertex.weights[k] * rows.y;
        z += vertex.weights[k] * rows.z;
    }
    let p = vec4<f32>(vertex.position, 1.0);
    let model = vec3<f32>(dot(x, p), dot(y, p), dot(z, p));
    // Cofactors: right for normals whatever the matrix.
    let normal = vec3<f32>(
        dot(cross(y.xyz, z.xyz), vertex.normal),
        dot(cross(z.xyz, x.xyz), vertex.normal),
        dot(cross(x.xyz, y.xyz), vertex.normal),
    );
    let world = root.position + rotate(root.rotation, model);
    var out: Shaded;
    out.clip = camera.view_projection * vec4<f32>(world, 1.0);
    out.normal = rotate(root.rotation, normalize(normal));
    return out;
}

@fragment
fn shaded(in: Shaded) -> @location(0) vec4<f32> {
    let light = 0.5 + 0.5 * normalize(in.normal).y;
    return vec4<f32>(vec3<f32>(light), 1.0);
}
