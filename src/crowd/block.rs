//! Blocks: the state of 16 characters, side by side.
//!
//! ```text
//! playback   4 clips x (id, time, weight, speed, duration, wrap, twist x y z)     144 B a character
//! root       position 3, rotation 4, displacement of the last frame 3              40
//! feet       2 x (lock offset 2, last ball 2, locked), pelvis, last height, fresh  52
//! proportion leg length                                                             4
//! output     slot token 16, character 4, rig and skin 4                             24
//! ```

use crate::lanes::{BLOCK, Row, SlotToken};
use crate::rig::MAX_FEET;

/// Clips that one character can mix.
pub const MAX_CLIPS: usize = 4;

/// Rows of a block that hold one value per character, playback apart.
const ROWS: usize = 14 + 5 * MAX_FEET;

/// Everything of one clip slot, 16 characters wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClipRows {
    /// Index among the topology's clips.
    pub clip: [u32; BLOCK],
    /// Seconds into the clip.
    pub time: Row,
    /// Sum over the slots is 1; 0 where the slot is empty.
    pub weight: Row,
    /// Clip seconds per second.
    pub speed: Row,
    /// Seconds; 1 where the slot is empty.
    pub duration: Row,
    /// 1 where the clip loops.
    pub wrap: Row,
    /// Root velocity in leg lengths and radians per clip second.
    pub twist: [Row; 3],
    /// Bit per lane: the twist changes within the clip and is looked up every frame.
    pub varying: u16,
}

impl ClipRows {
    const EMPTY: Self = Self {
        clip: [0; BLOCK],
        time: Row::ZERO,
        weight: Row::ZERO,
        speed: Row::ZERO,
        duration: Row::ONE,
        wrap: Row::ONE,
        twist: [Row::ZERO; 3],
        varying: 0,
    };
}

/// What persists about one foot of 16 characters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FootRows {
    /// World x and z that the foot is held away from its animated place, metres.
    pub offset: [Row; 2],
    /// World x and z of the animated ball in the last frame.
    pub last: [Row; 2],
    /// 1 while the ball is locked.
    pub locked: Row,
}

/// Offsets of a block whose lanes are of different rigs.
#[derive(Clone, Debug, Default)]
pub(crate) struct MixedRows {
    pub offsets: Vec<[Row; 3]>,
    /// Heel and ball of each leg.
    pub soles: [[[Row; 3]; 2]; MAX_FEET],
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Block {
    pub live: u16,
    /// Clip slots in use by any lane.
    pub clip_slots: u8,
    pub characters: [u32; BLOCK],
    pub rigs: [u16; BLOCK],
    pub skins: [u16; BLOCK],
    pub tokens: [Option<SlotToken>; BLOCK],
    pub clips: [ClipRows; MAX_CLIPS],
    pub position: [Row; 3],
    pub rotation: [Row; 4],
    /// x and z (metres, root axes) and yaw of the last frame's root motion.
    pub displacement: [Row; 3],
    pub leg: Row,
    /// Metres that the pelvis is moved along up, smoothed.
    pub pelvis: Row,
    /// World height of the root in the last frame.
    pub last_height: Row,
    /// 1 before the first frame and after a teleport: nothing to smooth from.
    pub fresh: Row,
    pub feet: [FootRows; MAX_FEET],
    /// Where lanes are of different rigs.
    pub mixed: Option<Box<MixedRows>>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            live: 0,
            clip_slots: 0,
            characters: [u32::MAX; BLOCK],
            rigs: [0; BLOCK],
            skins: [0; BLOCK],
            tokens: Default::default(),
            clips: [ClipRows::EMPTY; MAX_CLIPS],
            position: [Row::ZERO; 3],
            rotation: [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE],
            displacement: [Row::ZERO; 3],
            leg: Row::ONE,
            pelvis: Row::ZERO,
            last_height: Row::ZERO,
            fresh: Row::ONE,
            feet: [FootRows::default(); MAX_FEET],
            mixed: None,
        }
    }
}

/// State of one character, out of its block.
#[derive(Debug)]
pub(crate) struct Lane {
    pub character: u32,
    pub rig: u16,
    pub skin: u16,
    pub token: Option<SlotToken>,
    clips: [LaneClip; MAX_CLIPS],
    rows: [f32; ROWS],
}

#[derive(Clone, Copy, Debug)]
struct LaneClip {
    clip: u32,
    values: [f32; 8],
    varying: bool,
}

impl Block {
    pub fn free_lane(&self) -> Option<usize> {
        (0..BLOCK).find(|lane| self.live & (1 << lane) == 0)
    }

    /// Rig and skin that all live lanes share.
    pub fn shared_key(&self) -> Option<(u16, u16)> {
        let mut live = (0..BLOCK).filter(|lane| self.live & (1 << lane) != 0);
        let first = live.next()?;
        let key = (self.rigs[first], self.skins[first]);
        live.all(|lane| (self.rigs[lane], self.skins[lane]) == key).then_some(key)
    }

    /// True if all live lanes are of one rig.
    pub fn uniform(&self) -> bool {
        let mut live = (0..BLOCK).filter(|lane| self.live & (1 << lane) != 0);
        let Some(first) = live.next() else { return true };
        live.all(|lane| self.rigs[lane] == self.rigs[first])
    }

    pub fn any_rig(&self) -> u16 {
        self.rigs[self.live.trailing_zeros().min(15) as usize]
    }

    fn rows(&mut self) -> [&mut Row; ROWS] {
        let [f0, f1] = &mut self.feet;
        let [px, py, pz] = &mut self.position;
        let [rx, ry, rz, rw] = &mut self.rotation;
        let [dx, dz, dyaw] = &mut self.displacement;
        let ([ax, az], [bx, bz]) = (&mut f0.offset, &mut f0.last);
        let ([cx, cz], [ex, ez]) = (&mut f1.offset, &mut f1.last);
        [
            px,
            py,
            pz,
            rx,
            ry,
            rz,
            rw,
            dx,
            dz,
            dyaw,
            &mut self.leg,
            &mut self.pelvis,
            &mut self.last_height,
            &mut self.fresh,
            ax,
            az,
            bx,
            bz,
            &mut f0.locked,
            cx,
            cz,
            ex,
            ez,
            &mut f1.locked,
        ]
    }

    /// Takes a lane out; the lane is dead afterwards and holds harmless values.
    pub fn take(&mut self, lane: usize) -> Lane {
        let mut clips = [LaneClip { clip: 0, values: [0.0; 8], varying: false }; MAX_CLIPS];
        for (out, rows) in clips.iter_mut().zip(&self.clips) {
            *out = LaneClip {
                clip: rows.clip[lane],
                values: [
                    rows.time.0[lane],
                    rows.weight.0[lane],
                    rows.speed.0[lane],
                    rows.duration.0[lane],
                    rows.wrap.0[lane],
                    rows.twist[0].0[lane],
                    rows.twist[1].0[lane],
                    rows.twist[2].0[lane],
                ],
                varying: rows.varying & (1 << lane) != 0,
            };
        }
        let (character, rig, skin) = (self.characters[lane], self.rigs[lane], self.skins[lane]);
        let token = self.tokens[lane].take();
        let rows = self.rows().map(|row| row.0[lane]);
        self.live &= !(1 << lane);
        self.put_values(
            lane,
            &Lane { character: u32::MAX, rig, skin, token: None, clips: LaneClip::EMPTY, rows: DEAD },
        );
        self.characters[lane] = u32::MAX;
        Lane { character, rig, skin, token, clips, rows }
    }

    /// Puts a character into a free lane.
    pub fn put(&mut self, lane: usize, state: Lane) {
        self.live |= 1 << lane;
        self.put_values(lane, &state);
        self.characters[lane] = state.character;
        self.rigs[lane] = state.rig;
        self.skins[lane] = state.skin;
        self.tokens[lane] = state.token;
    }

    fn put_values(&mut self, lane: usize, state: &Lane) {
        for (row, value) in self.rows().into_iter().zip(state.rows) {
            row.0[lane] = value;
        }
        for (rows, from) in self.clips.iter_mut().zip(&state.clips) {
            rows.clip[lane] = from.clip;
            let [time, weight, speed, duration, wrap, x, z, yaw] = from.values;
            rows.time.0[lane] = time;
            rows.weight.0[lane] = weight;
            rows.speed.0[lane] = speed;
            rows.duration.0[lane] = duration;
            rows.wrap.0[lane] = wrap;
            rows.twist[0].0[lane] = x;
            rows.twist[1].0[lane] = z;
            rows.twist[2].0[lane] = yaw;
            rows.varying = rows.varying & !(1 << lane) | u16::from(from.varying) << lane;
        }
        self.count_slots();
    }

    /// Recounts the clip slots in use.
    pub fn count_slots(&mut self) {
        let used = |rows: &ClipRows| rows.weight.0.iter().any(|&weight| weight > 0.0);
        self.clip_slots = self.clips.iter().rposition(used).map_or(0, |at| at as u8 + 1);
    }
}

impl LaneClip {
    const EMPTY: [Self; MAX_CLIPS] =
        [Self { clip: 0, values: [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], varying: false }; MAX_CLIPS];
}

/// Identity rotation, leg length 1, fresh; see [`Block::rows`] for the order.
const DEAD: [f32; ROWS] = {
    let mut rows = [0.0; ROWS];
    rows[6] = 1.0;
    rows[10] = 1.0;
    rows[13] = 1.0;
    rows
};

impl Lane {
    /// A new character, standing at the origin without clips.
    pub fn new(character: u32, rig: u16, skin: u16, token: SlotToken, leg: f32) -> Self {
        let mut rows = DEAD;
        rows[10] = leg;
        Self { character, rig, skin, token: Some(token), clips: LaneClip::EMPTY, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::SlotBuffer;

    #[test]
    fn a_lane_survives_moving_between_blocks() {
        let mut slots = SlotBuffer::default();
        let token = slots.allocate(2).unwrap();
        let mut a = Block::default();
        a.put(5, Lane::new(7, 1, 0, token, 0.9));
        for (k, row) in a.rows().into_iter().enumerate() {
            row.0[5] = 10.0 + k as f32;
        }
        a.clips[1].time.0[5] = 0.25;
        a.clips[1].weight.0[5] = 0.5;
        a.clips[1].clip[5] = 42;
        a.clips[1].varying = 1 << 5;
        let mut b = Block::default();
        b.put(2, a.take(5));
        assert_eq!(a.live, 0);
        assert_eq!(a.clip_slots, 0);
        assert_eq!((b.live, b.characters[2], b.rigs[2], b.clip_slots), (1 << 2, 7, 1, 2));
        let moved = b.rows().map(|row| row.0[2]);
        for (k, value) in moved.into_iter().enumerate() {
            assert_eq!(value, 10.0 + k as f32);
        }
        assert_eq!((b.clips[1].time.0[2], b.clips[1].clip[2], b.clips[1].varying), (0.25, 42, 1 << 2));
        assert_eq!(b.tokens[2].as_ref().map(SlotToken::line_count), Some(2));
    }
}
