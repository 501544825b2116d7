use crate::play::Play;
use env::{Duration, Timestamp};
use pxp::v0::evict::{Candidate, evict};
use pxp::v0::quota::{Opener, PasscodeRefusal, Passcodes, QuotaRefusal, RoomLimits, Rooms};
use pxp::v0::streams::Streams;
use pxp::v0::{Phase, Side};
use std::net::IpAddr;

const DAY: Timestamp = Timestamp::from_secs(1_000 * 86_400);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn t56_ten_wrong_passcodes_lock_an_address_for_the_day() {
    let mut passcodes = Passcodes::default();
    let (one, two) = (ip("192.0.2.1"), ip("192.0.2.2"));
    for _ in 0..10 {
        assert_eq!(passcodes.check("right", "wrong", one, DAY), Err(PasscodeRefusal::Wrong));
    }
    assert_eq!(passcodes.check("right", "right", one, DAY), Err(PasscodeRefusal::Locked));
    assert_eq!(passcodes.check("right", "right", two, DAY), Ok(()));
    assert_eq!(passcodes.check("right", "right", one, DAY + Duration::from_secs(86_400)), Ok(()));
}

#[test]
fn t56_beyond_five_hundred_addresses_all_share_fifty_tries() {
    let mut passcodes = Passcodes::default();
    for n in 0..500_u32 {
        let _ = passcodes.check("right", "wrong", IpAddr::from((0x0a00_0000 + n).to_be_bytes()), DAY);
    }
    for n in 0..50_u8 {
        assert_eq!(
            passcodes.check("right", "wrong", ip(&format!("192.0.2.{n}")), DAY),
            Err(PasscodeRefusal::Wrong)
        );
    }
    assert_eq!(passcodes.check("right", "right", ip("198.51.100.1"), DAY), Err(PasscodeRefusal::Locked));
    assert_eq!(passcodes.check("right", "right", ip("10.0.0.0"), DAY), Ok(()));
}

#[test]
fn t57_three_rooms_an_address_where_a_prefix_of_64_is_one() {
    let mut rooms = Rooms::new(RoomLimits::default());
    let mut take = |address: &str| rooms.take(&Opener::Address(ip(address)), DAY);
    for address in ["2001:db8::1", "2001:db8::2", "2001:db8::ffff"] {
        assert_eq!(take(address), Ok(()));
    }
    assert_eq!(take("2001:db8::9"), Err(QuotaRefusal::IpLimit));
    assert_eq!(take("2001:db8:0:1::9"), Ok(()));
    for address in ["::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"] {
        assert_eq!(take(address), Ok(()));
    }
    assert_eq!(take("192.0.2.1"), Err(QuotaRefusal::IpLimit));
}

#[test]
fn rooms_of_a_day_are_counted_in_all_and_by_account() {
    let mut rooms = Rooms::new(RoomLimits { total: 4, each: 3 });
    let ana = Opener::Account("ana".to_owned());
    for _ in 0..3 {
        assert_eq!(rooms.take(&ana, DAY), Ok(()));
    }
    assert_eq!(rooms.take(&ana, DAY), Err(QuotaRefusal::UserLimit));
    assert_eq!(rooms.take(&Opener::Account("ben".to_owned()), DAY), Ok(()));
    assert_eq!(rooms.take(&Opener::Account("cy".to_owned()), DAY), Err(QuotaRefusal::DailyLimit));
    assert_eq!(rooms.take(&ana, DAY + Duration::from_secs(86_400)), Ok(()));
}

#[test]
fn t58_twenty_anonymous_streams_a_room_and_five_a_seat() {
    let mut streams = Streams::default();
    let admitted: Vec<bool> = (0..25).map(|_| streams.admit("r", None).is_some()).collect();
    assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), 20);
    assert!(streams.admit("other", None).is_some());
    let first = streams.admit("r", Some(Side::A)).unwrap().stream;
    for _ in 0..4 {
        assert_eq!(streams.admit("r", Some(Side::A)).unwrap().ends, None);
    }
    assert_eq!(streams.admit("r", Some(Side::A)).unwrap().ends, Some(first));
    assert_eq!(streams.admit("r", Some(Side::B)).unwrap().ends, None);
}

#[test]
fn t58_there_is_a_cap_in_all() {
    let mut streams = Streams::default();
    let mut anonymous = 0;
    for room in 0..60 {
        anonymous += (0..20).filter(|_| streams.admit(&room.to_string(), None).is_some()).count();
    }
    assert_eq!(anonymous, 800);
    let seats = (0..500).filter(|room| streams.admit(&format!("s{room}"), Some(Side::A)).is_some()).count();
    assert_eq!(seats, 400);
}

fn room(id: &str, demo: bool, phase: Phase, untouched: bool, age: u64) -> Candidate {
    let last_at = DAY - Duration::from_secs(age);
    Candidate { id: id.to_owned(), last_at, demo, phase, untouched, budget_spent: false }
}

#[test]
fn t59_old_rooms_go_and_demos_sooner() {
    let hour = 3600;
    let rooms = [
        room("young", false, Phase::Drafting, true, 29 * 24 * hour),
        room("old", false, Phase::Negotiating, false, 30 * 24 * hour + 1),
        room("demo", true, Phase::Paused, false, 24 * hour + 1),
        room("new demo", true, Phase::Paused, false, 23 * hour),
    ];
    assert_eq!(evict(&rooms, 5000, DAY), ["old", "demo"]);
}

#[test]
fn t59_capacity_takes_tiers_in_order_down_to_95_percent() {
    let mut rooms: Vec<Candidate> =
        (0..15).map(|n| room(&format!("busy{n}"), false, Phase::Negotiating, false, 9)).collect();
    rooms.push(room("agreed", false, Phase::Agreed, false, 99));
    rooms.push(room("finished demo", true, Phase::Agreed, false, 5));
    rooms.push(room("demo", true, Phase::Negotiating, false, 5));
    rooms.push(room("untouched", true, Phase::Paused, true, 1));
    rooms.push(Candidate { budget_spent: true, ..room("error", false, Phase::Error, false, 500) });
    rooms.push(room("resumable", false, Phase::Error, false, 500));
    // 21 rooms, 20 allowed: down to 19.
    assert_eq!(evict(&rooms, 20, DAY), ["untouched", "finished demo"]);
    assert_eq!(evict(&rooms, 17, DAY), ["untouched", "finished demo", "demo", "agreed", "error"]);
    assert_eq!(evict(&rooms, 21, DAY), Vec::<String>::new());
    assert_eq!(evict(&rooms, 2, DAY).len(), 5);
}

#[test]
fn t59_a_candidate_is_what_its_room_is() {
    let mut play = Play::sealed(10);
    let candidate = Candidate::of(&play.state).unwrap();
    assert!(candidate.untouched && !candidate.demo && !candidate.budget_spent);
    play.send(Side::A, "{}");
    let moved = Candidate::of(&play.state).unwrap();
    assert!(!moved.untouched && moved.last_at > candidate.last_at);
    play.run(pxp::v0::Command::Evict).unwrap();
    assert!(Candidate::of(&play.state).is_none());
}
