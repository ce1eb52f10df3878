//! Bodies of snapshots: nobody, one, and some of whom one is in transition, one fades and one has gone.

use throng::crowd::{FlatGround, Frame, Layer, Serial, WorldTransform};

use super::Seeds;
use crate::stored::{body, crowd};

pub fn seeds() -> Seeds {
    let (nobody, _) = crowd();
    let ground = FlatGround { height: 0.0 };
    let of = |count: usize| {
        let (mut crowd, plays) = crowd();
        let rig = crowd.rigs().next().expect("a rig");
        let mut handles = Vec::new();
        for k in 0..count {
            let place = WorldTransform::standing(k as f32, 0.0, 0.5);
            handles.push(crowd.spawn(rig, 0, place, &plays[1..]).expect("room"));
        }
        crowd.frame(Frame::new(0.05, &ground), &Serial).expect("a frame");
        if let [a, b, c, d, ..] = handles[..] {
            crowd.transition_to(a, &plays[..1], 0.3).expect("a transition");
            crowd.fade_to(b, &plays[..1], 0.3).expect("a fade");
            crowd.set_layers(c, &[Layer { weight: 0.5, ..Layer::new(plays[0].clip) }]).expect("a layer");
            crowd.despawn(d).expect("alive");
            crowd.frame(Frame::new(0.05, &ground), &Serial).expect("a frame");
        }
        body(&crowd)
    };
    vec![("nobody", body(&nobody)), ("one", of(1)), ("four", of(4))]
}
