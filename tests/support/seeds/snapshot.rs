//! Bodies of snapshots: nobody, one, some of whom one is in transition, one fades and one has gone, and some who follow
//! streams or are on the way there or from there.

use std::sync::Arc;

use throng::crowd::{FlatGround, Frame, Layer, Serial, Stream, StreamId, StreamRoot, WorldTransform};

use super::Seeds;
use crate::stored::{MAP, body, crowd, streamed};

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
    vec![("nobody", body(&nobody)), ("one", of(1)), ("four", of(4)), ("followers", followers())]
}

fn followers() -> Vec<u8> {
    let (mut crowd, plays) = crowd();
    let rig = crowd.rigs().next().expect("a rig");
    let stream = |id: u32, root| Stream { id: StreamId(id), map: Arc::clone(&MAP), root };
    let roots = [StreamRoot::InPose, StreamRoot::Travel];
    let handles = [0, 1, 2, 3].map(|k| {
        let who =
            crowd.spawn(rig, 0, WorldTransform::standing(k as f32, 0.0, 0.5), &plays[1..]).expect("room");
        if k != 0 {
            crowd.set_stream(who, &stream(0, roots[k % 2])).expect("a stream");
        }
        who
    });
    streamed(&mut crowd, 0);
    crowd.transition_to_stream(handles[0], &stream(1, roots[1]), 0.5).expect("a way in");
    crowd.transition_to(handles[1], &plays[..1], 0.5).expect("a way out");
    streamed(&mut crowd, 1);
    crowd.transition_to_stream(handles[2], &stream(1, roots[1]), 0.5).expect("another one");
    body(&crowd)
}
