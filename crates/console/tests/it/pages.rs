//! Every page for every kind of visitor.

use crate::support::{Browser, Scene};
use reqwest::StatusCode;

/// Who looks, with the browser they look with.
async fn visitors(scene: &mut Scene) -> Vec<(&'static str, Browser)> {
    let manage = scene.path("/manage");
    let mut reader = Vec::new();
    for scope in ["brief", "transcript", "ledger"] {
        let made =
            scene.owner.submit(&manage, &manage, &[("act", "share"), ("scope", scope), ("days", "7")]).await;
        reader.push(made.secrets()[0].clone());
    }
    let added = scene
        .owner
        .submit("/people", "/people", &[("act", "add"), ("name", "Vera"), ("role", "viewer")])
        .await;
    let link = added.secrets()[0].clone();
    let (viewer, _) = scene.site.enrolled(&link, 2).await;
    let mut all = vec![("nobody", scene.site.browser()), ("viewer", viewer)];
    let agent = scene.agent_a.clone();
    let names = ["agent", "reads brief", "reads transcript", "reads record"];
    for (name, link) in names.into_iter().zip([agent].iter().chain(&reader)) {
        let mut browser = scene.site.browser();
        browser.submit("/open", "/open", &[("link", link)]).await.leads_to(&scene.path(""));
        all.push((name, browser));
    }
    all
}

fn check(name: &str, path: &str, page: &crate::support::Page, expected: u16) {
    assert_eq!(page.status.as_u16(), expected, "{path} as {name}: {}", page.body);
    let kind = page.headers.get("content-type").unwrap();
    if kind.to_str().unwrap().starts_with("text/html") {
        for needed in ["<html lang=\"en\">", "<main id=\"main\"", "<h1", "Skip to the content"] {
            assert!(page.body.contains(needed), "{path} as {name} lacks {needed}");
        }
        for unsafe_part in ["<style", " style=", " onclick=", "<script>"] {
            assert!(!page.body.contains(unsafe_part), "{path} as {name} has {unsafe_part}");
        }
        assert_eq!(page.headers["referrer-policy"], "same-origin");
        assert_eq!(page.headers["cache-control"], "no-store");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    }
}

#[tokio::test]
async fn every_page_shows_itself_to_whom_it_may() {
    let mut scene = Scene::set("Hall hire").await;
    scene.ask("May I take Tuesday?").await;
    let mut visitors = visitors(&mut scene).await;
    let room = scene.path("");
    let (card, manage, record) = (scene.path("/card"), scene.path("/manage"), scene.path("/record"));
    let (file, claim) = (scene.path("/record.json"), scene.path("/claims/A1.1"));
    let (proof, ledger) = (format!("/brief/{}/proof.json", scene.room), scene.path("/ledger.jsonl"));
    let (brief, ask) = (format!("/brief/{}", scene.room), format!("/asks/{}/q1", scene.room));
    let owner = std::mem::replace(&mut scene.owner, scene.site.browser());
    let other = std::mem::replace(&mut scene.other, scene.site.browser());
    visitors.push(("owner", owner));
    visitors.push(("other person", other));
    let names = [
        "nobody",
        "viewer",
        "agent",
        "reads brief",
        "reads transcript",
        "reads record",
        "owner",
        "other person",
    ];
    // Columns as in `names`.
    let table: &[(&str, [u16; 8])] = &[
        ("/", [200; 8]),
        ("/sign-in", [200; 8]),
        ("/open", [200; 8]),
        ("/verify", [200; 8]),
        ("/recover", [200; 8]),
        ("/enrol/home", [200; 8]),
        ("/enrol/elsewhere", [404; 8]),
        ("/rooms/new", [200; 8]),
        ("/asks", [401, 200, 401, 401, 401, 401, 200, 401]),
        ("/people", [401, 200, 401, 401, 401, 401, 200, 401]),
        ("/me", [401, 200, 401, 401, 401, 401, 200, 401]),
        ("/notifications", [401, 200, 401, 401, 401, 401, 200, 401]),
        ("/push-worker.js", [200; 8]),
        ("/keys", [401, 200, 401, 401, 401, 401, 200, 401]),
        ("/stop", [401, 200, 401, 401, 401, 401, 200, 401]),
        (&room, [401, 401, 200, 200, 200, 200, 200, 200]),
        (&card, [401, 404, 200, 403, 403, 403, 200, 200]),
        (&manage, [401, 404, 200, 403, 403, 403, 200, 200]),
        (&record, [401, 404, 200, 403, 200, 200, 200, 200]),
        (&file, [401, 404, 200, 403, 200, 200, 200, 200]),
        (&claim, [401, 404, 200, 404, 200, 404, 200, 200]),
        (&brief, [401, 404, 200, 200, 200, 403, 200, 200]),
        (&proof, [401, 404, 409, 409, 409, 403, 409, 409]),
        (&ledger, [401, 404, 200, 403, 200, 200, 200, 200]),
        (&ask, [401, 404, 403, 403, 403, 403, 200, 409]),
        ("/room/nosuchroom", [401; 8]),
        ("/room/nosuchroom/record", [401, 404, 401, 401, 401, 401, 404, 401]),
    ];
    for (name, browser) in &mut visitors {
        let column = names.iter().position(|known| known == name).unwrap();
        for (path, expected) in table {
            let page = browser.get(path).await;
            check(name, path, &page, expected[column]);
        }
    }
}

#[tokio::test]
async fn sign_in_mode_opens_no_room_for_strangers() {
    let site = crate::support::Site::start(|config| config.sign_in = true).await;
    let mut nobody = site.browser();
    assert_eq!(nobody.get("/rooms/new").await.status, StatusCode::UNAUTHORIZED);
    let fields = [("topic", "x"), ("name", "Ana"), ("other", "Ben")];
    let page = nobody.submit("/", "/rooms", &fields).await;
    assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{}", page.body);
}

#[tokio::test]
async fn a_brief_says_who_decided_and_keeps_private_words_private() {
    let mut scene = Scene::set("Hall hire").await;
    scene.ask("May I take Tuesday?").await;
    let ask = format!("/asks/{}/q1", scene.room);
    let fields = [("ruling", "deny"), ("text", "Mondays only"), ("public_summary", "Not on Tuesday")];
    scene.owner.submit(&ask, &ask, &fields).await.leads_to(&scene.path("?said=answered"));
    scene.agree().await;
    let path = format!("/brief/{}", scene.room);
    let own = scene.owner.get(&path).await;
    for said in [
        "Agreed",
        "The hall on Monday",
        "&#39;s sealed card, line 1 under ",
        "refused it",
        "Mondays only",
        "Not on Tuesday",
        "was given in a signed-in session and is not signed",
        "The hall is free",
        "under &#34;must have&#34; (“<bdi>The hall on Monday</bdi>”)",
    ] {
        own.says(said);
    }
    let other = scene.other.get(&path).await;
    other.says("Not on Tuesday");
    other.says("under &#34;must have&#34; (“<bdi>A fair price</bdi>”)");
    assert!(!other.body.contains("The hall on Monday</bdi>”"), "A's clause on B's brief: {}", other.body);
    assert_eq!(
        other.body.matches("“<bdi>A fair price</bdi>”").count(),
        1,
        "B's words stand beside A's clause: {}",
        other.body
    );
    assert!(!other.body.contains("Mondays only"), "{}", other.body);
    assert!(!other.body.contains("May I take Tuesday?"), "{}", other.body);
}

#[tokio::test]
async fn the_owner_finds_the_links_that_no_agent_was_given() {
    let site = crate::support::Site::start(|_| {}).await;
    let (mut owner, _) = site.owner().await;
    let room = server::OpenRoom {
        topic: "Hall hire".into(),
        name: "<b>Ana</b>".into(),
        agent: None,
        key: None,
        others: vec![server::OtherSeat { name: "Ben".into(), proxy: None }],
        for_organization: false,
        max_turns: None,
        hold_relayed: None,
    };
    let nobody = server::Caller::Nobody;
    let opened = site.app.open_for_agent(&nobody, [127, 0, 0, 1].into(), room, None).await.unwrap();
    let added =
        owner.submit("/people", "/people", &[("act", "add"), ("name", "Vera"), ("role", "viewer")]).await;
    let (mut viewer, _) = site.enrolled(&added.secrets()[0], 2).await;
    let page = owner.get("/asks").await;
    page.says("&#60;b&#62;Ana");
    page.says(&format!("/room/{}#seat=A", opened.room_id));
    assert!(!viewer.get("/asks").await.body.contains(&opened.room_id));
    let link = site.app.doors().of(&opened.room_id.parse().unwrap(), pxp::SeatId::A).unwrap().link;
    let mut ana = site.browser();
    let at = format!("/room/{}", opened.room_id);
    ana.submit("/open", "/open", &[("link", &link)]).await.leads_to(&at);
    ana.submit(&at, &format!("{at}/person"), &[("as", "link")]).await.leads_to(&format!("{at}?said=person"));
    assert!(!owner.get("/asks").await.body.contains(&opened.room_id), "used links are not shown");
}

/// A recorded run needs no mandate, no key and no scripts: the whole list is on the page, and its events are served.
#[tokio::test]
async fn a_recorded_run_is_replayed_to_anybody() {
    let site = crate::support::Site::start(|_| {}).await;
    let mut browser = site.browser();
    browser.get("/live").await.leads_to("/live?mode=replay");
    let page = browser.get("/live?mode=replay").await;
    check("nobody", "/live", &page, 200);
    let shown = page.body.matches("<li data-seq=").count();
    assert!(shown > 8, "{shown} entries");
    let from = page.body.split("data-replay=\"").nth(1).unwrap().split('"').next().unwrap();
    let told = browser.get(&format!("{from}?speed=0")).await;
    assert_eq!(told.headers["content-type"], "text/event-stream");
    let numbers = |body: &str| {
        body.lines().filter_map(|line| line.strip_prefix("id: ").map(str::to_owned)).collect::<Vec<_>>()
    };
    let all = numbers(&told.body);
    assert_eq!(all.len(), shown);
    let rest = browser.get(&format!("{from}?speed=0&after={}", all[3])).await;
    assert_eq!(numbers(&rest.body), all[4..]);
    let end = browser.get(&format!("{from}?after={}", all[shown - 1])).await;
    assert_eq!(end.status, StatusCode::NO_CONTENT);
    assert_eq!(browser.get(&format!("{from}?speed=65")).await.status, StatusCode::BAD_REQUEST);
}
