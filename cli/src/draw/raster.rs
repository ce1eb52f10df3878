//! Shaded, shadowed, antialiased triangles over the `euc` rasteriser.

use euc::buffer::Buffer2d;
use euc::rasterizer::{BackfaceCullingDisabled, Triangles};
use euc::{Interpolate, Pipeline};
use glam::camera::rh::{proj::directx, view};
use glam::{Mat4, Vec3, Vec4};
use image::{Rgb, RgbImage};

use super::camera::Camera;
use super::{Scene, Solid, Surface, srgb};

/// What is where nothing is drawn, sRGB.
pub const BACKGROUND: u32 = 0x00dd_e3e8;
const SHADOW_SIZE: usize = 1024;
/// Samples above which supersampling gives way, so that a large picture fits into memory.
const MOST_SAMPLES: u64 = 24_000_000;

type Fill<'a> = Triangles<'a, Buffer2d<f32>, BackfaceCullingDisabled>;

/// What a triangle's corner carries to the pixels.
#[derive(Clone, Copy)]
struct Varying {
    world: Vec3,
    normal: Vec3,
    colour: Vec3,
}

impl Interpolate for Varying {
    fn lerp2(a: Self, b: Self, x: f32, y: f32) -> Self {
        Self {
            world: a.world * x + b.world * y,
            normal: a.normal * x + b.normal * y,
            colour: a.colour * x + b.colour * y,
        }
    }
    fn lerp3(a: Self, b: Self, c: Self, x: f32, y: f32, z: f32) -> Self {
        Self {
            world: a.world * x + b.world * y + c.world * z,
            normal: a.normal * x + b.normal * y + c.normal * z,
            colour: a.colour * x + b.colour * y + c.colour * z,
        }
    }
}

#[derive(Clone, Copy)]
struct Corner {
    clip: Vec4,
    varying: Varying,
}

impl Corner {
    fn between(self, other: Self, t: f32) -> Self {
        Self {
            clip: self.clip.lerp(other.clip, t),
            varying: Varying::lerp2(self.varying, other.varying, 1.0 - t, t),
        }
    }
}

/// Triangles of `solid`, cut at the near plane; what the rasteriser cannot divide by is left out.
fn corners(solid: &Solid, transform: Mat4, near: f32) -> Vec<Corner> {
    let corner = |index: u32| {
        let index = index as usize;
        let world = solid.positions[index];
        let colour = match solid.surface {
            Surface::Plain(colour) => colour,
            Surface::PerVertex => solid.colours[index],
            Surface::Ground { .. } => Vec3::ONE,
        };
        Corner {
            clip: transform * world.extend(1.0),
            varying: Varying { world, normal: solid.normals[index], colour },
        }
    };
    let mut out = Vec::with_capacity(solid.indices.len());
    for triangle in solid.indices.chunks_exact(3) {
        let whole = [corner(triangle[0]), corner(triangle[1]), corner(triangle[2])];
        if whole.iter().all(|c| c.clip.w >= near) {
            push_sound(&mut out, whole);
            continue;
        }
        let mut kept = Vec::with_capacity(4);
        for (index, &here) in whole.iter().enumerate() {
            let next = whole[(index + 1) % 3];
            let (inside, leaves) = (here.clip.w >= near, next.clip.w < near);
            if inside {
                kept.push(here);
            }
            if inside == leaves {
                kept.push(here.between(next, (near - here.clip.w) / (next.clip.w - here.clip.w)));
            }
        }
        for index in 2..kept.len() {
            push_sound(&mut out, [kept[0], kept[index - 1], kept[index]]);
        }
    }
    out
}

fn push_sound(out: &mut Vec<Corner>, triangle: [Corner; 3]) {
    let [a, b, c] = triangle.map(|corner| Vec3::new(corner.clip.x, corner.clip.y, corner.clip.w));
    // Edge-on or off the picture by so much that pixel numbers overflow.
    let area = (a - c).cross(b - c).dot(c);
    let sane = [a, b, c].iter().all(|p| p.x.abs().max(p.y.abs()) < 1e4 * p.z);
    if area.is_finite() && area.abs() > 1e-12 && sane {
        out.extend(triangle);
    }
}

/// Depth alone, from the light.
struct DepthOnly;

impl Pipeline for DepthOnly {
    type Vertex = [f32; 4];
    type VsOut = ();
    type Pixel = ();
    fn vert(&self, clip: &[f32; 4]) -> ([f32; 4], ()) {
        (*clip, ())
    }
    fn frag(&self, (): &()) {}
}

/// A scene with its light: made once, drawn from as many cameras as wanted.
pub struct Lit<'a> {
    scene: &'a Scene,
    to_light: Vec3,
    light: Mat4,
    shadow: Buffer2d<f32>,
}

impl<'a> Lit<'a> {
    /// Casts the shadows of `scene`.
    pub fn new(scene: &'a Scene) -> Self {
        let to_light = Vec3::new(-0.35, 1.0, 0.55).normalize();
        let reach = scene.extent * 1.6;
        let centre = scene.focus + Vec3::Y * (0.5 * scene.extent.min(2.0));
        let from_light = view::look_at_mat4(centre + to_light * 4.0 * reach, centre, Vec3::Z);
        let light =
            directx::orthographic(-reach, reach, -reach, reach, 0.1 * reach, 8.0 * reach) * from_light;
        let size = [SHADOW_SIZE * if scene.extent > 4.0 { 3 } else { 1 }; 2];
        let mut shadow = Buffer2d::new(size, 1.0_f32);
        let mut nothing = Buffer2d::new(size, ());
        for solid in scene.solids.iter().filter(|solid| solid.casts_shadow) {
            let clip: Vec<[f32; 4]> =
                corners(solid, light, 0.0).iter().map(|corner| corner.clip.to_array()).collect();
            DepthOnly.draw::<Fill, _>(&clip, &mut nothing, Some(&mut shadow));
        }
        Self { scene, to_light, light, shadow }
    }

    /// Share of the key light that reaches a point, averaged over neighbouring texels for a soft edge.
    fn lit(&self, world: Vec3, normal: Vec3) -> f32 {
        let texel = 3.2 * self.scene.extent / euc::Target::size(&self.shadow)[0] as f32;
        let at = self.light.project_point3(world + normal * (2.0 * texel));
        let size = euc::Target::size(&self.shadow)[0] as i32;
        let [x, y] = [(at.x * 0.5 + 0.5) * size as f32, (0.5 - at.y * 0.5) * size as f32];
        let (mut open, mut taps) = (0, 0);
        for dy in -1..=1 {
            for dx in -1..=1 {
                let (column, row) = (x as i32 + dx, y as i32 + dy);
                taps += 1;
                let inside = (0..size).contains(&column) && (0..size).contains(&row);
                if !inside || self.shadow.as_ref()[(row * size + column) as usize] >= at.z - 1e-4 {
                    open += 1;
                }
            }
        }
        open as f32 / taps as f32
    }

    /// Draws the scene at `width` x `height` pixels with `samples` squared samples each.
    pub fn draw(&self, camera: &Camera, width: u32, height: u32, samples: u32) -> RgbImage {
        let fits = |&samples: &u32| u64::from(width * height) * u64::from(samples * samples) <= MOST_SAMPLES;
        let samples = (1..=samples.max(1)).rev().find(fits).unwrap_or(1);
        let size = [(width * samples) as usize, (height * samples) as usize];
        let mut colour = Buffer2d::new(size, srgb(BACKGROUND));
        let mut depth = Buffer2d::new(size, 1.0_f32);
        for solid in &self.scene.solids {
            let shader = Shader { lit: self, eye: camera.eye, surface: solid.surface };
            let triangles = corners(solid, camera.view_projection, camera.near);
            shader.draw::<Fill, _>(&triangles, &mut colour, Some(&mut depth));
        }
        average(colour.as_ref(), width, height, samples)
    }
}

/// Box filter in linear light, then sRGB.
fn average(colour: &[Vec3], width: u32, height: u32, samples: u32) -> RgbImage {
    let row = (width * samples) as usize;
    RgbImage::from_fn(width, height, |x, y| {
        let mut sum = Vec3::ZERO;
        for sy in 0..samples {
            let start = (y * samples + sy) as usize * row + (x * samples) as usize;
            sum += colour[start..start + samples as usize].iter().copied().sum::<Vec3>();
        }
        Rgb((sum / (samples * samples) as f32).to_array().map(encode))
    })
}

fn encode(linear: f32) -> u8 {
    let value = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

struct Shader<'a> {
    lit: &'a Lit<'a>,
    eye: Vec3,
    surface: Surface,
}

impl Pipeline for Shader<'_> {
    type Vertex = Corner;
    type VsOut = Varying;
    type Pixel = Vec3;

    fn vert(&self, corner: &Corner) -> ([f32; 4], Varying) {
        (corner.clip.to_array(), corner.varying)
    }

    fn frag(&self, varying: &Varying) -> Vec3 {
        let to_eye = (self.eye - varying.world).normalize_or(Vec3::Y);
        let mut normal = varying.normal.normalize_or(Vec3::Y);
        if normal.dot(to_eye) < 0.0 {
            normal = -normal;
        }
        let key = normal.dot(self.lit.to_light).max(0.0);
        let key = if key > 0.0 { key * self.lit.lit(varying.world, normal) } else { 0.0 };
        let sky = Vec3::new(0.50, 0.55, 0.62).lerp(Vec3::new(0.22, 0.21, 0.20), 0.5 - 0.5 * normal.y);
        let light = sky * 0.75 + Vec3::new(1.0, 0.97, 0.90) * 0.85 * key;
        match self.surface {
            Surface::Ground { radius } => {
                let away = (varying.world - self.lit.scene.focus).with_y(0.0).length() / radius;
                let fade = ((away - 0.45) / 0.5).clamp(0.0, 1.0);
                let fade = fade * fade * (3.0 - 2.0 * fade);
                (pattern(varying.world, normal, (self.eye - varying.world).length()) * light)
                    .lerp(srgb(BACKGROUND), fade)
            }
            _ => {
                let rim = (1.0 - normal.dot(to_eye).clamp(0.0, 1.0)).powi(4);
                varying.colour * light + Vec3::splat(0.12 * rim)
            }
        }
    }
}

/// Half-metre checks with a stronger line every two metres; contour lines every 0.1 m of height. Lines fade
/// with the distance from the eye, where they would be thinner than a pixel.
fn pattern(world: Vec3, normal: Vec3, distance: f32) -> Vec3 {
    let cell = |v: f32| (v * 2.0).floor() as i64;
    let even = (cell(world.x) + cell(world.z)).rem_euclid(2) == 0;
    let mut shade: f32 = if even { 0.60 } else { 0.47 };
    let strength = 1.0 - ((distance - 6.0) / 24.0).clamp(0.0, 1.0);
    let to_line = |v: f32| 2.0 * ((v * 0.5 + 0.5).rem_euclid(1.0) - 0.5).abs();
    if to_line(world.x).min(to_line(world.z)) < 0.012 {
        shade *= 1.0 - 0.4 * strength;
    }
    let slope = (1.0 - normal.y * normal.y).max(0.0).sqrt() / normal.y.max(0.05);
    // A quarter of the way between multiples of 0.1 m, where no stair tread lies.
    let to_contour = (((world.y - 0.025) * 10.0 + 0.5).rem_euclid(1.0) - 0.5).abs() * 0.1;
    if to_contour < 0.008 * slope {
        shade *= 1.0 - 0.35 * strength;
    }
    Vec3::new(shade, shade, shade * 0.98)
}
