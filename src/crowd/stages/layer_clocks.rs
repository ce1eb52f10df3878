//! Clocks, events and weights of layers: few characters have them, so lane by lane.

use crate::crowd::block::{Block, lanes_of, put_bit};
use crate::crowd::events::{ClipClock, EventSink, Teller, Wrapping};
use crate::crowd::library::Library;
use crate::crowd::rare::LayerState;

/// Moves the layers of a block on by `dt`, at full rate like everything that counts time. Layers that have faded out
/// end. Their root motion is no one's.
pub(super) fn advance_layers(block: &mut Block, dt: f32, library: &Library, events: &mut EventSink) {
    for lane in lanes_of(block.layered) {
        let character = block.characters[lane];
        let Some(rare) = &mut block.rare[lane] else { continue };
        for layer in rare.layers.iter_mut().filter(|layer| layer.used) {
            let head = library.head(layer.clip);
            let clock = step(layer, head.duration, dt);
            if head.eventful && (layer.weight > 0.0 || layer.to > 0.0) {
                let teller = Teller { character, clip: layer.clip, weight: layer.weight };
                events.passed_by(teller, clock, head, dt);
            }
            fade(layer, dt);
        }
        if !rare.layers.iter().any(|layer| layer.used) {
            put_bit(&mut block.layered, lane, false);
            put_bit(&mut block.settled, lane, true);
        }
    }
}

/// As the clips' own clocks.
fn step(layer: &mut LayerState, duration: f32, dt: f32) -> ClipClock {
    let cycle = if layer.ping_pong { 2.0 * duration } else { duration };
    let from = layer.time;
    let whole = layer.speed * dt;
    let step = whole - layer.lost;
    let to = from + step;
    layer.lost = (to - from) - step;
    let wraps = layer.loops || layer.ping_pong;
    let moved = if wraps {
        let wrapped = to - (to / cycle).floor() * cycle;
        layer.time = if (0.0..cycle).contains(&wrapped) { wrapped } else { 0.0 };
        whole
    } else {
        layer.time = to.clamp(0.0, duration);
        if layer.time != to {
            layer.lost = 0.0;
        }
        layer.time - from
    };
    let wrap = match (layer.loops, layer.ping_pong) {
        (true, _) => Wrapping::Loop,
        (_, true) => Wrapping::PingPong,
        _ => Wrapping::Once,
    };
    ClipClock { from, to: layer.time, moved, whole, warped: false, duration, wrap }
}

fn fade(layer: &mut LayerState, dt: f32) {
    if layer.elapsed >= layer.duration {
        return;
    }
    layer.elapsed += dt;
    if layer.elapsed < layer.duration {
        let s = layer.elapsed / layer.duration;
        layer.weight = layer.from + (layer.to - layer.from) * (s * s * (3.0 - 2.0 * s));
    } else if layer.to > 0.0 {
        layer.weight = layer.to;
    } else {
        *layer = LayerState::default();
    }
}
