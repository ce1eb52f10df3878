//! Overrides of a built-in body's roles and reference pose.

use super::Seeds;

pub fn seeds() -> Seeds {
    let texts = [
        ("nothing", "{}".to_owned()),
        ("roles_taken", r#"{"roles":{"NAME":null}}"#.to_owned()),
        ("roles_given", r#"{"roles":{"NAME":"left.thigh_twist.0"}}"#.to_owned()),
        (
            "reference",
            r#"{"reference":{"left.upper_arm":{"roll_deg":20.0},"right.shin":{"direction":[-1,-0.1,0]}}}"#.to_owned(),
        ),
        ("both", r#"{"roles":{"NAME":"right.thumb.2"},"reference":{"hips":{"direction":[0,1,1],"roll_deg":-190}}}"#.to_owned()),
    ];
    let body =
        throng::content::character(throng::content::RigKind::Aligned, &throng::content::BodyPlan::adult());
    let name = body.roles.joint(throng::rig::Role::Toe(throng::rig::Side::Left)).expect("a toe");
    let name = &body.character.skeleton.joints[usize::from(name)].name;
    texts.map(|(at, text)| (at, text.replace("NAME", name).into_bytes())).into()
}
