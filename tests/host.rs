//! What a host does with a crowd besides running it: saving and restoring, exchanging rigs and clips, moving the world's
//! origin, and reading places, poses and boxes.

#[path = "host/bodies.rs"]
mod bodies;
#[path = "host/bounds.rs"]
mod bounds;
#[path = "host/joints.rs"]
mod joints;
#[path = "host/lanes.rs"]
mod lanes;
#[path = "host/origin.rs"]
mod origin;
#[path = "host/save_restore.rs"]
mod save_restore;
#[path = "host/swap.rs"]
mod swap;
