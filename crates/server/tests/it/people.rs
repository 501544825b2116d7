//! The owner's way in, agent keys and sign-in mode, the inbox, and answers that carry a passkey.

use crate::support::{Server, card, folder, good, refused, secret};
use keys::Algorithm;
use keys::webauthn::Authenticator;
use ledger::Effect;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use store::{Claimed, Handler, Outbox};

/// A browser with a session cookie and a passkey.
pub struct Person {
    pub cookie: String,
    pub passkey: Authenticator,
}

impl Person {
    /// Enrols with the link of the first start.
    pub async fn enrol(server: &Server) -> Self {
        let links = server.app.found_organizations().await.unwrap();
        assert_eq!(links.len(), 1);
        assert!(server.app.found_organizations().await.unwrap().is_empty(), "the link comes once");
        Self::enrol_with(server, "home", &links[0].link).await
    }

    /// Enrols with a link into an organization.
    async fn enrol_with(server: &Server, org: &str, link: &str) -> Self {
        let invite = secret(&json!(link));
        let origin = format!("http://localhost:{}", server.at.port());
        let passkey = Authenticator::new(Algorithm::P256, &[9; 32], "localhost", &origin).unwrap();
        let begun = good(
            server
                .send(
                    Method::POST,
                    "/api/enrolment/begin",
                    None,
                    Some(json!({ "org": org, "invite": invite })),
                )
                .await,
        )
        .await;
        let challenge = begun["challenge"].as_str().unwrap().parse().unwrap();
        let registration = serde_json::to_value(passkey.register(&challenge).unwrap()).unwrap();
        let finish =
            json!({ "org": org, "invite": invite, "ticket": begun["ticket"], "registration": registration });
        let response = server.send(Method::POST, "/api/enrolment/finish", None, Some(finish.clone())).await;
        let cookie = cookie(&response);
        good(response).await;
        let used = server.send(Method::POST, "/api/enrolment/finish", None, Some(finish)).await;
        assert!(used.status().is_client_error(), "an enrolment link works once");
        Self { cookie, passkey }
    }

    pub async fn send(&self, server: &Server, method: Method, path: &str, body: Option<Value>) -> Response {
        self.send_to(&server.http, method, &server.url(path), body).await
    }

    pub async fn send_to(
        &self,
        http: &reqwest::Client,
        method: Method,
        url: &str,
        body: Option<Value>,
    ) -> Response {
        let mut request = http.request(method, url).header("cookie", &self.cookie);
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    pub async fn agent_key(&self, server: &Server) -> (String, String) {
        let body = json!({ "act": "issue_agent_key", "label": "laptop" });
        let done = good(self.send(server, Method::POST, "/api/organization/acts", Some(body)).await).await;
        (done["key"].as_str().unwrap().to_owned(), done["secret"].as_str().unwrap().to_owned())
    }
}

fn cookie(response: &Response) -> String {
    let set = response.headers()["set-cookie"].to_str().unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

async fn create_room(server: &Server, key: Option<&str>) -> Value {
    let arguments = json!({ "topic": "Hall", "your_principal": "Ana", "counterpart": "Ben" });
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "create_room", "arguments": arguments },
    });
    let mut request = server.http.post(server.url("/mcp")).json(&call);
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    request.send().await.unwrap().json::<Value>().await.unwrap()["result"].clone()
}

#[tokio::test]
async fn sign_in_mode_has_two_refusals_and_opens_no_room() {
    let server = Server::with(|config| config.sign_in = true).await;
    let person = Person::enrol(&server).await;
    let streams = server.app.journal().stats().await.unwrap().streams;
    let missing = create_room(&server, None).await;
    let wrong = create_room(&server, Some("wrong")).await;
    for (result, code) in [(&missing, "agent_key_required"), (&wrong, "agent_key_unknown")] {
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["error"]["code"], code);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("/keys"), "{result}");
    }
    assert_ne!(missing["content"][0]["text"], wrong["content"][0]["text"]);
    assert_eq!(server.app.journal().stats().await.unwrap().streams, streams, "no room was created");
    let (key, secret) = person.agent_key(&server).await;
    let created = create_room(&server, Some(&secret)).await;
    assert!(created["structuredContent"]["your_link"].is_string(), "{created}");
    let rooms = good(person.send(&server, Method::GET, "/api/rooms", None).await).await;
    assert_eq!(rooms["rooms"][0]["room_id"], created["structuredContent"]["room_id"]);
    let revoke = json!({ "act": "revoke_agent_key", "key": key });
    good(person.send(&server, Method::POST, "/api/organization/acts", Some(revoke)).await).await;
    assert_eq!(
        create_room(&server, Some(&secret)).await["structuredContent"]["error"]["code"],
        "agent_key_unknown"
    );
}

#[tokio::test]
async fn a_person_is_reminded_once_at_half_time() {
    let server = Server::start().await;
    let person = Person::enrol(&server).await;
    let targets =
        json!({ "act": "set_notify", "targets": [{ "kind": "email", "address": "ana@example.com" }] });
    good(person.send(&server, Method::POST, "/api/organization/acts", Some(targets)).await).await;
    let body = json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
    let opened = good(person.send(&server, Method::POST, "/api/rooms", Some(body)).await).await;
    let id = opened["room_id"].as_str().unwrap();
    let (a, path) = (secret(&opened["your_link"]), |rest: &str| format!("/api/rooms/{id}{rest}"));
    let joined = server.post(&path("/seat"), &secret(&opened["invites"][0]["link"]), json!({})).await;
    for (seat, name) in [(a.clone(), "Ana"), (secret(&joined["your_link"]), "Ben")] {
        good(server.send(Method::PUT, &path("/card"), Some(&seat), Some(card(name))).await).await;
    }
    let question = json!({ "message": "x", "status": "escalate", "escalation": { "question": "May I?" } });
    server.post(&path("/envelopes"), &a, json!({ "envelope": question })).await;
    let room = id.parse().unwrap();
    let (state, _) = server.app.room_state(&room).await.unwrap();
    let (end, _) = state.deadline().unwrap();
    let half = state.reminder().unwrap();
    assert_eq!(
        half.since(state.waiting_since.unwrap()).as_secs() * 2,
        end.since(state.waiting_since.unwrap()).as_secs()
    );
    let told = || server.told.0.lock().unwrap().values().cloned().collect::<Vec<_>>();
    let first = async {
        while told().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), first).await.unwrap();
    // Three wakes are left once the message is off the outbox: before that, a leap of the clock would end its lease.
    let settled = async {
        while server.app.journal().stats().await.unwrap().outbox > 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), settled).await.unwrap();
    server.later(half.since(state.waiting_since.unwrap()).as_secs() + 1);
    // Whatever is told twice on the way, the reminder comes.
    let reminded = async {
        while !told().iter().any(|body| body.contains("still waits")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), reminded).await.unwrap();
    // The same wake once more, after the answer.
    let wake = Claimed {
        id: i64::MAX,
        stream: room.stream().parse().unwrap(),
        effect: Effect::Wake { stream: room.stream(), at: half },
        attempts: 0,
        lease: 0,
    };
    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "Yes" });
    server.post(&path("/answers"), &a, json!({ "matter": { "kind": "question", "answer": answer } })).await;
    server.told.0.lock().unwrap().clear();
    server.app.run(&wake).await.unwrap();
    let source = server.app.runtime().source().clone();
    let outbox = Outbox::new(server.app.journal().clone(), source, std::sync::Arc::new(server.app.clone()));
    outbox.drain().await.unwrap();
    assert!(told().is_empty(), "an answered question needs no reminder");
}

#[tokio::test]
async fn a_question_reaches_the_inbox_and_is_answered_by_passkey() {
    let server = Server::start().await;
    let mut person = Person::enrol(&server).await;
    let body = json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
    let opened = good(person.send(&server, Method::POST, "/api/rooms", Some(body)).await).await;
    assert!(opened.get("principal_link").is_none(), "a member answers, so there is no link");
    let room = opened["room_id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/api/rooms/{room}{rest}");
    let a = secret(&opened["your_link"]);
    let joined = server.post(&path("/seat"), &secret(&opened["invites"][0]["link"]), json!({})).await;
    let b = secret(&joined["your_link"]);
    for (seat, name) in [(&a, "Ana"), (&b, "Ben")] {
        good(server.send(Method::PUT, &path("/card"), Some(seat), Some(card(name))).await).await;
    }
    let ask = json!({ "envelope": { "message": "Wait", "status": "escalate", "escalation": { "question": "Is 950 fine?" } } });
    server.post(&path("/envelopes"), &a, ask).await;
    let inbox = good(person.send(&server, Method::GET, "/api/inbox", None).await).await;
    assert_eq!(inbox["waiting"][0]["ask"]["brief"]["question"], "Is 950 fine?", "{inbox}");

    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "Yes, 950 at most" });
    let matter = json!({ "kind": "question", "answer": answer });
    let prepared =
        good(person.send(&server, Method::POST, &path("/answers/prepare"), Some(matter.clone())).await).await;
    assert_eq!(prepared["ask"]["id"], "q1");
    let challenge = prepared["challenge"].as_str().unwrap().parse().unwrap();
    let assertion = serde_json::to_value(person.passkey.assert(&challenge).unwrap()).unwrap();
    let mut evidence = assertion.clone();
    evidence["kind"] = json!("passkey");
    let signed =
        |matter: &Value| json!({ "matter": matter, "nonce": prepared["nonce"], "evidence": evidence });
    // What was signed is this answer and no other.
    let mut flipped = matter.clone();
    flipped["answer"]["ruling"] = json!("deny");
    let found =
        refused(person.send(&server, Method::POST, &path("/answers"), Some(signed(&flipped))).await).await;
    assert!(found.0.is_client_error(), "{found:?}");
    let mut altered = matter.clone();
    altered["answer"]["text"] = json!("Yes, 9500 at most");
    assert!(
        refused(person.send(&server, Method::POST, &path("/answers"), Some(signed(&altered))).await)
            .await
            .0
            .is_client_error()
    );
    let done = good(person.send(&server, Method::POST, &path("/answers"), Some(signed(&matter))).await).await;
    assert_eq!(done["standing"], "direct");
    let again =
        refused(person.send(&server, Method::POST, &path("/answers"), Some(signed(&matter))).await).await;
    assert_eq!((again.0.as_u16(), again.1.as_str()), (409, "question_answered"));
    let inbox = good(person.send(&server, Method::GET, "/api/inbox", None).await).await;
    assert_eq!(inbox["waiting"], json!([]));
    let bundle = server.send(Method::GET, &path("/bundle"), Some(&a), None).await.bytes().await.unwrap();
    let bundle = pxp::bundle::Bundle::parse(&bundle).unwrap();
    assert!(pxp::bundle::check(&bundle).is_ok(), "the passkey's signature verifies offline");
}

#[tokio::test]
async fn signing_in_takes_the_passkey_and_each_challenge_once() {
    let server = Server::start().await;
    let mut person = Person::enrol(&server).await;
    let begun = good(server.send(Method::POST, "/api/session/begin", None, Some(json!({}))).await).await;
    let challenge = begun["challenge"].as_str().unwrap().parse().unwrap();
    let assertion = serde_json::to_value(person.passkey.assert(&challenge).unwrap()).unwrap();
    let body = json!({ "ticket": begun["ticket"], "assertion": assertion });
    let response = server.send(Method::POST, "/api/session", None, Some(body.clone())).await;
    person.cookie = cookie(&response);
    let me = good(person.send(&server, Method::GET, "/api/me", None).await).await;
    assert_eq!(
        (me["org"].clone(), me["roles"].as_array().unwrap().contains(&json!("owner"))),
        (json!("home"), true)
    );
    let replayed = server.send(Method::POST, "/api/session", None, Some(body)).await;
    assert_eq!(refused(replayed).await.1, "challenge_used");
    let ended = json!({ "act": "revoke_sessions", "member": me["member"] });
    good(person.send(&server, Method::POST, "/api/organization/acts", Some(ended)).await).await;
    assert_eq!(person.send(&server, Method::GET, "/api/me", None).await.status(), 401);
}

#[tokio::test]
async fn a_held_answer_waits_for_the_person_with_the_link() {
    let server = Server::with(|config| config.rooms.hold_relayed = true).await;
    let room = server.negotiating().await;
    let ask = json!({ "envelope": { "message": "Wait", "status": "escalate", "escalation": { "question": "Fine?" } } });
    server.post(&room.path("/envelopes"), &room.a, ask).await;
    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "Yes" });
    let relayed = server
        .post(&room.path("/answers"), &room.a, json!({ "matter": { "kind": "question", "answer": answer } }))
        .await;
    assert_eq!((relayed["standing"].clone(), relayed.get("card_hash")), (json!("relayed"), None));
    assert_eq!(server.get(&room.path(""), &room.a).await["status"], "paused");
    let enrolled = server.post(&room.path("/principal"), &room.link_a, json!({ "as": "link" })).await;
    let ana = enrolled["secret"].as_str().unwrap();
    let ben = server.post(&room.path("/principal"), &room.link_b, json!({ "as": "link" })).await;
    let matter = json!({ "kind": "relayed", "question_id": "q1", "accept": true });
    let wrong = server
        .send(Method::POST, &room.path("/answers/prepare"), ben["secret"].as_str(), Some(matter.clone()))
        .await;
    assert_eq!(refused(wrong).await.1, "wrong_person");
    let prepared = server.post(&room.path("/answers/prepare"), ana, matter.clone()).await;
    let confirm = json!({ "matter": matter, "nonce": prepared["nonce"], "evidence": { "kind": "session" } });
    let done = server.post(&room.path("/answers"), ana, confirm).await;
    assert_eq!(done["standing"], "confirmed");
    assert_eq!(server.get(&room.path(""), &room.a).await["status"], "negotiating");
}

#[tokio::test]
async fn the_switch_stops_a_room_and_lets_it_go_on() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let enrolled = server.post(&room.path("/principal"), &room.link_a, json!({ "as": "link" })).await;
    let ana = enrolled["secret"].as_str().unwrap();
    let body = json!({ "envelope": { "message": "Hello", "status": "continue" } });
    let pause = |paused: bool| json!({ "paused": paused, "reason": "Let me think" });
    good(server.send(Method::PUT, &room.path("/pause"), Some(ana), Some(pause(true))).await).await;
    let stopped =
        server.send(Method::POST, &room.path("/envelopes"), Some(&room.a), Some(body.clone())).await;
    assert_eq!(refused(stopped).await.1, "paused");
    good(server.send(Method::PUT, &room.path("/pause"), Some(ana), Some(pause(false))).await).await;
    server.post(&room.path("/envelopes"), &room.a, body).await;
}

#[tokio::test]
async fn the_room_switch_is_in_the_hands_of_seat_a() {
    let server = Server::start().await;
    let owner = Person::enrol(&server).await;
    let body = json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
    let opened = good(owner.send(&server, Method::POST, "/api/rooms", Some(body)).await).await;
    let path = |rest: &str| format!("/api/rooms/{}{rest}", opened["room_id"].as_str().unwrap());
    server.post(&path("/seat"), &secret(&opened["invites"][0]["link"]), json!({})).await;
    let link_b = server.door(opened["room_id"].as_str().unwrap(), "B");
    let ben = server.post(&path("/principal"), &link_b, json!({ "as": "link" })).await;
    let ben = ben["secret"].as_str();
    let pause = |paused: bool| json!({ "paused": paused, "reason": "wait" });
    let by_ben = async |paused: bool| {
        refused(server.send(Method::PUT, &path("/pause"), ben, Some(pause(paused))).await).await
    };
    assert_eq!(by_ben(true).await.1, "not_permitted");
    good(owner.send(&server, Method::PUT, &path("/pause"), Some(pause(true))).await).await;
    assert_eq!(by_ben(false).await.1, "not_permitted");
    assert_eq!(server.get(&path(""), ben.unwrap()).await["status"], "paused");
    good(owner.send(&server, Method::PUT, &path("/pause"), Some(pause(false))).await).await;
    assert_eq!(server.get(&path(""), ben.unwrap()).await["status"], "drafting");
}

#[tokio::test]
async fn an_organization_stops_what_concerns_it_and_nothing_else() {
    let server = Server::with(|config| config.organizations = vec!["alpha".into(), "beta".into()]).await;
    let links = server.app.found_organizations().await.unwrap();
    let alpha = Person::enrol_with(&server, "alpha", &links[0].link).await;
    let beta = Person::enrol_with(&server, "beta", &links[1].link).await;
    let open = async |by: &Person| {
        let body = json!({ "topic": "Hall", "your_principal": "Ana", "counterparts": [{ "name": "Ben" }] });
        let opened = good(by.send(&server, Method::POST, "/api/rooms", Some(body)).await).await;
        (opened["room_id"].as_str().unwrap().to_owned(), secret(&opened["your_link"]))
    };
    let (room, seat) = open(&alpha).await;
    let (of_beta, seat_of_beta) = open(&beta).await;
    let act = async |by: &Person, act: &str, target: Value| {
        let mut body = json!({ "act": act, "target": target });
        if act == "pause" {
            body["reason"] = json!("x");
        }
        by.send(&server, Method::POST, "/api/organization/acts", Some(body)).await
    };
    let seal = async |room: &str, seat: &str| {
        let path = format!("/api/rooms/{room}/card");
        server.send(Method::PUT, &path, Some(seat), Some(card("Ana"))).await
    };
    let everything = json!({ "kind": "everything" });
    let stream = json!({ "kind": "stream", "stream": format!("room/{room}") });
    good(act(&beta, "pause", everything.clone()).await).await;
    good(seal(&room, &seat).await).await;
    assert_eq!(refused(seal(&of_beta, &seat_of_beta).await).await.1, "paused");
    // Nor does it learn whether there is such a room.
    assert_eq!(refused(act(&beta, "pause", stream.clone()).await).await.1, "not_found");
    let none = json!({ "kind": "stream", "stream": "room/none" });
    assert_eq!(refused(act(&beta, "pause", none).await).await.1, "not_found");
    good(act(&alpha, "pause", stream.clone()).await).await;
    assert_eq!(refused(seal(&room, &seat).await).await.1, "paused");
    good(act(&beta, "resume", everything).await).await;
    good(seal(&of_beta, &seat_of_beta).await).await;
    assert_eq!(refused(seal(&room, &seat).await).await.1, "paused");
    assert_eq!(refused(act(&beta, "resume", stream.clone()).await).await.1, "not_paused");
    good(act(&alpha, "resume", stream).await).await;
    good(seal(&room, &seat).await).await;
}

/// Signing out ends the session itself: no copy of its cookie is good any more, in no process. Other sessions go on.
#[tokio::test]
async fn signing_out_ends_every_copy_of_the_cookie() {
    let folder = folder();
    let server = Server::on(folder.path(), |_| {}).await;
    let person = Person::enrol(&server).await;
    let begun = good(server.send(Method::POST, "/api/session/begin", None, Some(json!({}))).await).await;
    let challenge = begun["challenge"].as_str().unwrap().parse().unwrap();
    let mut other = Person { cookie: String::new(), passkey: person.passkey };
    let assertion = serde_json::to_value(other.passkey.assert(&challenge).unwrap()).unwrap();
    let body = json!({ "ticket": begun["ticket"], "assertion": assertion });
    other.cookie = cookie(&server.send(Method::POST, "/api/session", None, Some(body)).await);
    let me = async |server: &Server, cookie: &str| {
        let request = server.http.get(server.url("/api/me")).header("cookie", cookie);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!((me(&server, &person.cookie).await, me(&server, &other.cookie).await), (200, 200));
    let out = server.http.delete(server.url("/api/session")).header("cookie", &person.cookie);
    let out = out.send().await.unwrap();
    assert_eq!(out.status(), 204);
    assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    let second = Server::on(folder.path(), |_| {}).await;
    for server in [&server, &second] {
        assert_eq!((me(server, &person.cookie).await, me(server, &other.cookie).await), (401, 200));
    }
}

/// Whoever enrolled a key answers with it; the credential beside it reads.
#[tokio::test]
async fn a_seat_with_a_key_is_not_answered_for_by_its_credential_alone() {
    let server = Server::start().await;
    let room = server.negotiating().await;
    let key = keys::SoftwareSigner::from_seed(Algorithm::Ed25519, &[5; 32]).unwrap();
    let enrol = json!({ "as": "key", "key": keys::Signer::public(&key) });
    let enrolled = server.post(&room.path("/principal"), &room.link_a, enrol).await;
    let ana = enrolled["secret"].as_str().unwrap();
    let ask = json!({ "envelope": { "message": "Wait", "status": "escalate", "escalation": { "question": "Fine?" } } });
    server.post(&room.path("/envelopes"), &room.a, ask).await;
    let answer = json!({ "question_id": "q1", "ruling": "allow", "text": "Yes" });
    let matter = json!({ "kind": "question", "answer": answer });
    let prepared = server.post(&room.path("/answers/prepare"), ana, matter.clone()).await;
    let given =
        |evidence: Value| json!({ "matter": matter, "nonce": prepared["nonce"], "evidence": evidence });
    let path = room.path("/answers");
    let weaker = server.send(Method::POST, &path, Some(ana), Some(given(json!({ "kind": "session" })))).await;
    assert_eq!(refused(weaker).await.1, "evidence_not_accepted");
    let statement = canon::canonicalize(prepared["statement"].to_string().as_bytes()).unwrap();
    let signature = keys::Signer::sign(&key, canon::Digest::of(&statement).as_bytes()).unwrap();
    let signed = json!({ "kind": "ed25519", "thumbprint": keys::Signer::public(&key).thumbprint().to_string(),
        "signature": signature });
    assert_eq!(server.post(&path, ana, given(signed)).await["standing"], "direct");
}

/// What finds a room is looked for in its state; what is gone is named.
#[tokio::test]
async fn missing_pointers_are_found() {
    let folder = folder();
    let server = Server::on(folder.path(), |_| {}).await;
    let person = Person::enrol(&server).await;
    let (_, secret) = person.agent_key(&server).await;
    let created = create_room(&server, Some(&secret)).await;
    let room = created["structuredContent"]["room_id"].as_str().unwrap();
    let missing = async || {
        let runtime = store::Runtime::new(server.app.journal().clone(), std::sync::Arc::new(env::System));
        let mut all = store::missing_pointers::<pxp::Room>(&runtime).await.unwrap();
        all.extend(store::missing_pointers::<approvals::Organization>(&runtime).await.unwrap());
        all.into_iter().map(|problem| problem.place).collect::<Vec<_>>()
    };
    assert!(missing().await.is_empty());
    let raw = rusqlite::Connection::open(folder.path().join("store.sqlite")).unwrap();
    assert_eq!(raw.execute("DELETE FROM pointer WHERE key LIKE 'rooms/%'", []).unwrap(), 1);
    assert_eq!(raw.execute("DELETE FROM pointer WHERE key = 'orgs'", []).unwrap(), 1);
    let found = missing().await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(&format!("of room/{room} is missing")), "{found:?}");
    assert!(found[1].contains("orgs home of org/home is missing"), "{found:?}");
}
