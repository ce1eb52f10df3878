//! What a joint's name suggests: its words, its side, its part of the body.

use super::roles::{Digit, Limb, Side};

/// A part of the body as a name gives it, before the hierarchy has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Hips,
    Spine,
    Neck,
    Head,
    /// Clavicle, or the upper arm of rigs that have no other word for it.
    Shoulder,
    Clavicle,
    UpperArm,
    Forearm,
    /// Hand before palm before wrist.
    Hand(u8),
    Finger(Digit),
    Thigh,
    /// The thigh of rigs that have no other word for it; else a joint between hips and thigh.
    HipJoint,
    /// Shin below a thigh, or the thigh of rigs that have a knee.
    Leg,
    Shin,
    Foot,
    Toe,
    Twist(Limb),
}

/// What a name suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) part: Part,
    pub(super) side: Option<Side>,
}

/// Reads a name: Mixamo, Unreal, Unity and VRM, Rigify (`DEF-`), Biped, DAZ, CMU, and `.L`, `_l`, `Left` spellings.
/// `None` for ends, controls, and whatever is not part of a humanoid body.
pub(super) fn guess(name: &str) -> Option<Guess> {
    // Rigs made by code put helpers before joints and mark them so.
    if name.starts_with("__") {
        return None;
    }
    let words = words(name);
    let small_of = |at: usize| at > 0 && ["lower", "upper"].contains(&words[at - 1].as_str());
    let no_part = |(at, word): (usize, &String)| {
        NOT_A_PART.contains(&word.as_str()) && !(word == "back" && small_of(at))
    };
    if words.iter().enumerate().any(no_part) || one_of_five_toes(&words) {
        return None;
    }
    let mut side = None;
    let mut twist = false;
    let mut key = String::new();
    for word in &words {
        match word.as_str() {
            "l" | "left" | "lft" => side = side.or(Some(Side::Left)),
            "r" | "right" | "rgt" => side = side.or(Some(Side::Right)),
            "twist" | "roll" => twist = true,
            _ if word.chars().all(|c| c.is_ascii_digit()) => {}
            _ if DECORATION.contains(&word.as_str()) => {}
            word => key.push_str(word),
        }
    }
    let part = if twist { Part::Twist(limb(&key)?) } else { part(&key, &words)? };
    let middle = matches!(part, Part::Hips | Part::Spine | Part::Neck | Part::Head);
    match (middle, side) {
        // Some rigs call the thigh joint "LeftHip".
        (true, Some(_)) if part == Part::Hips && key == "hip" => Some(Guess { part: Part::HipJoint, side }),
        (true, Some(_)) | (false, None) => None,
        _ => Some(Guess { part, side }),
    }
}

/// Words of names that are no joint of the body, or the end of one.
const NOT_A_PART: [&str; 45] = [
    "nub",
    "end",
    "leaf",
    "tip",
    "ik",
    "fk",
    "pole",
    "target",
    "ctrl",
    "control",
    "footsteps",
    "socket",
    "slot",
    "effector",
    "site",
    "goal",
    "helper",
    "eye",
    "jaw",
    "tail",
    "ear",
    "hair",
    "front",
    "back",
    "wing",
    "tongue",
    "brow",
    "buttock",
    "breast",
    "mch",
    "org",
    "skirt",
    "sleeve",
    "weapon",
    "prop",
    "camera",
    "light",
    "metacarpal",
    "nose",
    "chin",
    "handslot",
    "cloth",
    "ribbon",
    "scapula",
    "carpal",
];

/// Words that say nothing about the part.
const DECORATION: [&str; 14] = [
    "mixamorig",
    "def",
    "bip",
    "bone",
    "joint",
    "jnt",
    "bn",
    "b",
    "j",
    "c",
    "armature",
    "skeleton",
    "cc",
    "base",
];

fn part(key: &str, words: &[String]) -> Option<Part> {
    let digit = match key.trim_start_matches("hand").trim_start_matches("finger").trim_start_matches('f') {
        "thumb" => Some(Digit::Thumb),
        "index" => Some(Digit::Index),
        "middle" | "mid" => Some(Digit::Middle),
        "ring" => Some(Digit::Ring),
        "pinky" | "little" | "ringpinky" | "pinkie" => Some(Digit::Little),
        _ => None,
    };
    if let Some(digit) = digit {
        return Some(Part::Finger(digit));
    }
    for phalanx in ["proximal", "intermediate", "distal", "medial"] {
        if let Some(rest) = key.strip_suffix(phalanx)
            && let Some(Part::Finger(digit)) = part(rest, words)
        {
            return Some(Part::Finger(digit));
        }
    }
    Some(match key {
        "hips" | "hip" | "pelvis" => Part::Hips,
        "spine" | "abdomen" | "torso" | "chest" | "upperchest" | "tummy" | "waist" | "spinelower"
        | "spineupper" | "lowerback" | "upperback" | "abdomenlower" | "abdomenupper" | "chestlower"
        | "chestupper" => Part::Spine,
        "neck" | "necklower" | "neckupper" => Part::Neck,
        "head" => Part::Head,
        "shoulder" => Part::Shoulder,
        "clavicle" | "collar" | "collarbone" => Part::Clavicle,
        "upperarm" | "arm" | "uparm" | "shldr" | "shldrbend" => Part::UpperArm,
        "forearm" | "lowerarm" | "lowarm" | "loarm" | "elbow" | "forearmbend" => Part::Forearm,
        "hand" => Part::Hand(0),
        // Palm bones of single fingers are numbered.
        "palm" if !words.iter().any(|word| word.chars().all(|c| c.is_ascii_digit())) => Part::Hand(1),
        "wrist" => Part::Hand(2),
        "finger" => Part::Finger(biped_digit(words)?),
        "thigh" | "upleg" | "upperleg" | "thighbend" => Part::Thigh,
        "leg" => Part::Leg,
        "shin" | "calf" | "lowerleg" | "lowleg" | "loleg" | "knee" => Part::Shin,
        "foot" | "ankle" => Part::Foot,
        "toe" | "toes" | "ball" | "footthumb" | "football" => Part::Toe,
        _ => return None,
    })
}

/// Toes that are counted, and their bones as well (`toe4-2`), are five, and none of them is the ball of the foot.
fn one_of_five_toes(words: &[String]) -> bool {
    let numbers = |at: usize| {
        words[at + 1..].iter().take_while(|word| word.chars().all(|c| c.is_ascii_digit())).count()
    };
    words.iter().position(|word| word == "toe").is_some_and(|at| numbers(at) >= 2)
}

/// Biped numbers its fingers: `Finger0` is the thumb, `Finger21` the second bone of the middle finger.
fn biped_digit(words: &[String]) -> Option<Digit> {
    let number = words.iter().rev().find(|word| word.chars().all(|c| c.is_ascii_digit()))?;
    let first = number.chars().next()?.to_digit(10)?;
    Digit::ALL.get(usize::try_from(first).ok()?).copied()
}

fn limb(key: &str) -> Option<Limb> {
    Some(match key {
        "thigh" | "upleg" | "upperleg" => Limb::Thigh,
        "shin" | "calf" | "lowerleg" | "leg" => Limb::Shin,
        "upperarm" | "arm" | "uparm" | "shldr" => Limb::UpperArm,
        "forearm" | "lowerarm" | "fore" => Limb::Forearm,
        _ => return None,
    })
}

/// Lower-case words and numbers: split at separators, at changes of case and before digits; a namespace in front is
/// left out, and sides that are written together with the part (`Lefthand`) are taken apart.
fn words(name: &str) -> Vec<String> {
    let name = name.rsplit([':', '|']).next().unwrap_or(name);
    let letters = name.chars().take(128).collect::<Vec<_>>();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at)).copied();
        let after = letters.get(at + 1).copied();
        let starts = before.is_some_and(|before| {
            let digits = before.is_ascii_digit() != letter.is_ascii_digit();
            let hump = before.is_lowercase() && letter.is_uppercase();
            // The last capital of a run belongs to the next word: "LFinger" is "L" and "Finger".
            let run = before.is_uppercase() && letter.is_uppercase() && after.is_some_and(char::is_lowercase);
            digits || hump || run
        });
        if (starts || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    let mut split = Vec::with_capacity(words.len() + 1);
    for word in words {
        let parted = ["left", "right"].into_iter().find_map(|side| {
            let rest = word.strip_prefix(side)?;
            (rest.len() >= 3).then(|| (side.to_owned(), rest.to_owned()))
        });
        match parted {
            Some((side, rest)) => split.extend([side, rest]),
            None => split.push(word),
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_many_tools() {
        use Part::*;
        let left = Some(Side::Left);
        let right = Some(Side::Right);
        for (name, part, side) in [
            ("mixamorig:LeftUpLeg", Thigh, left),
            ("mixamorig:RightToeBase", Toe, right),
            ("mixamorig:LeftHandPinky3", Finger(Digit::Little), left),
            ("thigh_twist_01_r", Twist(Limb::Thigh), right),
            ("calf_l", Shin, left),
            ("ball_r", Toe, right),
            ("DEF-upper_arm.L", UpperArm, left),
            ("DEF-f_index.01.R", Finger(Digit::Index), right),
            ("DEF-spine.003", Spine, None),
            ("Bip01 L UpperArm", UpperArm, left),
            ("Bip001 R Finger21", Finger(Digit::Middle), right),
            ("Bip01 Pelvis", Hips, None),
            ("lShldr", UpperArm, left),
            ("rCollar", Clavicle, right),
            ("lThighBend", Thigh, left),
            ("J_Bip_C_UpperChest", Spine, None),
            ("J_Bip_L_LowerLeg", Shin, left),
            ("leftUpperArm", UpperArm, left),
            ("rightLittleProximal", Finger(Digit::Little), right),
            ("index_intermediate.L", Finger(Digit::Index), left),
            ("Lefthand", Hand(0), left),
            ("LeftFootThumb1", Toe, left),
            ("LeftHandRingPinky2", Finger(Digit::Little), left),
            ("UpperLeg.L", Thigh, left),
            ("upperleg.l", Thigh, left),
            ("LeftForeArmRoll", Twist(Limb::Forearm), left),
            ("thigh.l_Armature", Thigh, left),
            ("LeftHip", HipJoint, left),
            ("LHipJoint", HipJoint, left),
            ("LowerBack", Spine, None),
            ("LoArm_L", Forearm, left),
            ("l_low_leg", Shin, left),
            ("Bip01 L Toe0", Toe, left),
            ("Wrist_L", Hand(2), left),
        ] {
            assert_eq!(guess(name), Some(Guess { part, side }), "{name}");
        }
        for name in [
            "Bip01HeadNub",
            "head_leaf",
            "LowerLeg.L_end",
            "PoleTarget.L",
            "lButtock",
            "Palm2.L",
            "#7",
            "__UpLeg_L",
            "toe1-1.L",
            "pelvis.L",
            "leg_back.L",
            "",
            "Head_L",
        ] {
            assert_eq!(guess(name), None, "{name}");
        }
    }
}
