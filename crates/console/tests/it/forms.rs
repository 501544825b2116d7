//! What forms do, and which are refused.

use crate::support::{CARD, Scene, Site};
use keys::webauthn::Challenge;
use reqwest::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn a_form_without_its_token_is_refused_and_does_nothing() {
    let mut scene = Scene::set("Hall hire").await;
    scene.ask("May I?").await;
    let ask = format!("/asks/{}/q1", scene.room);
    let foreign = scene.other.get(&scene.path("")).await.csrf();
    let (room, manage) = (scene.path(""), scene.path("/manage"));
    for token in ["", "x", &foreign] {
        for (path, fields) in [
            (ask.as_str(), &[("ruling", "allow"), ("text", "yes")][..]),
            (&manage, &[("act", "leave"), ("sure", "yes")]),
            ("/keys", &[("act", "issue"), ("label", "stolen")]),
            ("/people", &[("act", "add"), ("name", "Mallory"), ("role", "owner")]),
            ("/stop", &[("act", "stop"), ("target", "everything"), ("reason", "x")]),
            ("/sign-out", &[]),
        ] {
            let page = scene.owner.post(path, token, fields).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{path} with {token:?}: {}", page.body);
            page.says("bad_csrf_token");
        }
    }
    scene.owner.get(&room).await.says("May I?");
    let people = scene.owner.get("/people").await;
    assert!(!people.body.contains("Mallory"));
}

#[tokio::test]
async fn an_answer_is_signed_over_the_hash_that_is_shown() {
    let mut scene = Scene::set("Hall hire").await;
    scene.ask("May I take Tuesday?").await;
    let path = format!("/asks/{}/q1", scene.room);
    let page = scene.owner.get(&path).await;
    let csrf = page.csrf();
    let words = [("ruling", "allow"), ("text", "Yes")];
    let prepared = scene.owner.post(&format!("{path}/prepare"), &csrf, &words).await;
    let prepared: Value = serde_json::from_str(&prepared.body).unwrap();
    let hash = prepared["statement"]["brief_hash"].as_str().unwrap();
    page.says(&format!("<span>{}</span> <span>{}</span>", &hash[..4], &hash[4..8]));
    let challenge: Challenge = prepared["challenge"].as_str().unwrap().parse().unwrap();
    let signed = serde_json::to_value(scene.key.assert(&challenge).unwrap()).unwrap();
    let text = |name: &str| signed[name].as_str().unwrap().to_owned();
    let proof = [
        ("nonce", prepared["nonce"].as_str().unwrap().to_owned()),
        ("credential_id", text("credential_id")),
        ("authenticator_data", text("authenticator_data")),
        ("client_data_json", text("client_data_json")),
        ("signature", text("signature")),
    ];
    let with = |words: &[(&'static str, &'static str)]| -> Vec<(&str, String)> {
        let words = words.iter().map(|(name, value)| (*name, (*value).to_owned()));
        words.chain(proof.iter().map(|(name, value)| (*name, value.clone()))).collect()
    };
    // The same signature under other words, or as the opposite answer, proves nothing.
    for changed in
        [[("ruling", "deny"), ("text", "Yes")], [("ruling", "allow"), ("text", "Yes, at any price")]]
    {
        let fields = with(&changed);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let page = scene.owner.post(&path, &csrf, &fields).await;
        assert_eq!(page.status, StatusCode::UNAUTHORIZED, "{}", page.body);
        page.says("bad_evidence");
    }
    let fields = with(&words);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    scene.owner.post(&path, &csrf, &fields).await.leads_to(&scene.path("?said=answered"));
    assert_eq!(scene.owner.get(&path).await.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_relayed_answer_is_held_until_its_person_confirms_it() {
    for (accept, said, then) in [("yes", "confirmed", 409), ("no", "disowned", 200)] {
        let site = Site::start(|config| config.rooms.hold_relayed = true).await;
        let mut scene = Scene::of(site, "Hall hire").await;
        scene.ask("May I take Tuesday?").await;
        let (room, agent) = scene.site.holder(&scene.agent_a).await;
        let answer =
            serde_json::from_value(json!({ "question_id": "q1", "ruling": "allow", "text": "Sure" }))
                .unwrap();
        scene.site.app.relay(&agent, &room, answer, None).await.unwrap();
        let path = format!("/asks/{}/q1.confirm", scene.room);
        let page = scene.owner.get(&path).await;
        page.says("Did you give this answer?");
        page.says("Sure");
        scene
            .owner
            .post(&path, &page.csrf(), &[("accept", accept)])
            .await
            .leads_to(&scene.path(&format!("?said={said}")));
        let question = scene.owner.get(&format!("/asks/{}/q1", scene.room)).await;
        assert_eq!(question.status.as_u16(), then, "{accept}: {}", question.body);
    }
}

#[tokio::test]
async fn the_card_is_read_back_before_it_is_sealed() {
    let mut scene = Scene::set("Hall hire").await;
    let path = scene.path("/card");
    let read = scene.owner.submit(&path, &path, CARD).await;
    for said in [
        "Is this what you want?",
        "The hall on Monday",
        "price: at most 900.50 EUR (may agree to 1)",
        "Seats for 80",
    ] {
        read.says(said);
    }
    let mut bad = CARD.to_vec();
    bad.retain(|(name, _)| *name != "limit0_value");
    bad.push(("limit0_value", "a lot"));
    let refused = scene.owner.submit(&path, &path, &bad).await;
    refused.says("Limit 1: write the value as a plain number.");
    refused.says("Rent the hall");
}

#[tokio::test]
async fn a_person_vouches_for_a_claim_and_attaches_its_document() {
    let mut scene = Scene::set("Hall hire").await;
    scene.ask("May I?").await;
    let claim = scene.path("/claims/A1.1");
    let sha = "a".repeat(64);
    let source = format!("{claim}/source");
    let fields = [("uri", "https://example.org/plan.pdf"), ("sha256", sha.as_str())];
    scene.owner.submit(&claim, &source, &fields).await.leads_to(&format!("{claim}?said=source"));
    scene.owner.get(&claim).await.says("https://example.org/plan.pdf");
    scene.owner.submit(&claim, &claim, &[("accept", "yes")]).await.leads_to(&scene.path("?said=claim"));
    scene.owner.get(&claim).await.says("Confirmed");
}

#[tokio::test]
async fn a_side_shows_shares_stops_and_leaves() {
    let mut scene = Scene::set("Hall hire").await;
    let path = scene.path("/manage");
    scene
        .owner
        .submit(&path, &path, &[("act", "show"), ("to", "B"), ("clause", "must_haves[1]")])
        .await
        .leads_to(&format!("{path}?said=shown"));
    let other = scene.other.get(&scene.path("")).await;
    other.says("Seats for 80");
    other.says("Matches the sealed card.");
    assert!(!other.body.contains("The hall on Monday"), "only the one line was shown");
    let shared =
        scene.owner.submit(&path, &path, &[("act", "share"), ("scope", "transcript"), ("days", "1")]).await;
    let mut reader = scene.site.browser();
    let link = shared.secrets()[0].clone();
    reader.submit("/open", "/open", &[("link", &link)]).await.leads_to(&scene.path(""));
    assert_eq!(reader.get(&scene.path("")).await.status, StatusCode::OK);
    scene
        .owner
        .submit(&path, &path, &[("act", "unshare"), ("share", "s1")])
        .await
        .leads_to(&format!("{path}?said=unshared"));
    assert_eq!(reader.get(&scene.path("")).await.status, StatusCode::UNAUTHORIZED);
    scene
        .owner
        .submit(&path, &path, &[("act", "pause"), ("reason", "holiday")])
        .await
        .leads_to(&format!("{path}?said=paused"));
    scene.owner.get(&path).await.says("Let it go on");
    scene.owner.submit(&path, &path, &[("act", "resume")]).await.leads_to(&format!("{path}?said=resumed"));
    let unsure = scene.owner.submit(&path, &path, &[("act", "leave"), ("reason", "enough")]).await;
    assert_eq!(unsure.status, StatusCode::BAD_REQUEST);
    scene
        .owner
        .submit(&path, &path, &[("act", "leave"), ("reason", "enough"), ("sure", "yes")])
        .await
        .leads_to(&scene.path("?said=left"));
    let brief = scene.other.get(&format!("/brief/{}", scene.room)).await;
    brief.says("NOTHING WAS AGREED. The side of <bdi>Ana</bdi> left the room. The reason given: “<bdi>enough</bdi>”.");
}

#[tokio::test]
async fn people_keys_codes_and_switches() {
    let site = Site::start(|_| {}).await;
    let (mut owner, _) = site.owner().await;
    let issued = owner.submit("/keys", "/keys", &[("act", "issue"), ("label", "Laptop")]).await;
    let key = issued.secrets()[0].clone();
    let listed = owner.get("/keys").await;
    listed.says("Laptop");
    assert!(!listed.body.contains(&key), "an agent key is shown once");
    let codes = owner.submit("/me", "/me", &[("act", "codes")]).await;
    let code = codes.secrets()[0].lines().next().unwrap().to_owned();
    let recovered = site.browser().submit("/recover", "/recover", &[("org", "home"), ("code", &code)]).await;
    let (mut again, _) = site.enrolled(&recovered.secrets()[0], 9).await;
    again.get("/me").await.says("7 left");
    let twice = site.browser().submit("/recover", "/recover", &[("org", "home"), ("code", &code)]).await;
    assert_eq!(twice.status, StatusCode::UNAUTHORIZED);
    let stop = [("act", "stop"), ("target", "everything"), ("reason", "fire drill")];
    again.submit("/stop", "/stop", &stop).await.leads_to("/stop?said=stopped");
    again.get("/stop").await.says("fire drill");
    again
        .submit("/stop", "/stop", &[("act", "go"), ("target", "everything")])
        .await
        .leads_to("/stop?said=running");
    let quiet = [("act", "quiet"), ("from", "22:00"), ("to", "07:30"), ("offset", "2")];
    again.submit("/me", "/me", &quiet).await.leads_to("/me?said=saved");
    again.get("/me").await.says("from 22:00 to 07:30 (UTC+02:00)");
    again.submit("/me", "/sign-out", &[]).await.leads_to("/?said=out");
    assert_eq!(again.get("/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_person_chooses_where_they_are_told() {
    let site = Site::start(|_| {}).await;
    let (mut owner, _) = site.owner().await;
    let page = "/notifications";
    owner.get("/me").await.says("Nowhere yet");
    owner.get(page).await.says("does not send web push");
    for (kind, fields, shown) in [
        ("email", vec![("address", "ana@example.org")], "ana@example.org"),
        (
            "ntfy",
            vec![("server", "https://ntfy.example.org"), ("topic", "ana")],
            "https://ntfy.example.org · ana",
        ),
        (
            "webhook",
            vec![("url", "https://hooks.example.org/secret-path"), ("secret", "whsec_x")],
            "hooks.example.org",
        ),
        (
            "web_push",
            vec![("endpoint", "https://push.example.org/secret-path"), ("p256dh", "AA"), ("auth", "AA")],
            "push.example.org",
        ),
    ] {
        let mut form = vec![("act", "add"), ("kind", kind)];
        form.extend(fields);
        owner.submit(page, page, &form).await.leads_to("/notifications?said=saved");
        owner.get(page).await.says(&format!("<small><bdi>{shown}</bdi></small>"));
    }
    owner.get("/me").await.says("In 4 places");
    let listed = owner.get(page).await.body;
    let targets: Vec<&str> =
        listed.split("name=\"target\" value=\"").skip(1).map(|rest| &rest[..64]).collect();
    assert_eq!(targets.len(), 8, "each can be tried and removed");
    let try_it = [("act", "test"), ("target", targets[0])];
    owner.submit(page, page, &try_it).await.leads_to("/notifications?said=told");
    owner
        .submit(page, page, &[("act", "remove"), ("target", targets[0])])
        .await
        .leads_to("/notifications?said=saved");
    assert!(!owner.get(page).await.body.contains("ana@example.org"));
    let gone = owner.submit(page, page, &try_it).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_same_form_sent_twice_opens_one_room() {
    let site = Site::start(|_| {}).await;
    let (mut owner, _) = site.owner().await;
    let csrf = owner.get("/rooms/new").await.csrf();
    let fields = [("topic", "x"), ("name", "Ana"), ("other", "Ben"), ("key", "0123456789abcdefgh")];
    let first = owner.post("/rooms", &csrf, &fields).await.secrets();
    let second = owner.post("/rooms", &csrf, &fields).await.secrets();
    assert_eq!(first, second);
    assert_eq!(first.len(), 2);
}
