use crate::house::*;
use pcm::signer::Identity;
use pcm::signer::rpc::*;
use signer::{Attest, Client, FaultCode, socket};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_knows_its_peers_and_answers_in_order() {
    let house = House::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signer.sock");
    let listener = socket::bind(&path, false).unwrap();
    assert!(socket::bind(&path, false).is_err(), "another signer listens there");
    let (stop, stopped) = oneshot::channel::<()>();
    let peers: socket::Peers = Arc::new(|uid| Some(Identity { name: format!("uid:{uid}"), ..gateway() }));
    let served = tokio::spawn(socket::serve(house.service.clone(), listener, peers, async {
        let _ = stopped.await;
    }));
    let client = Client::connect(&path).await.unwrap();
    let status = client.call(Request::Status).await.unwrap();
    assert!(String::from_utf8(status).unwrap().contains("\"scheme\":\"uid\""));
    let register = RegisterRun {
        request_id: id("reg"),
        run_id: None,
        tenant: None,
        caller: Some(Name::new("harness:tester").unwrap()),
        agent: Agent { name: Text::new("tester").unwrap(), version: None },
    };
    let told = client.register_run(register).await.unwrap();
    let seat = house.seat(&gateway());
    let mut run = Run { seat, caller: Some(Name::new("harness:tester").unwrap()), told, next: 0 };
    // Sixty calls at once on one connection: each is answered with its own place.
    let calls: Vec<_> =
        (0..60).map(|call| run.deciding(&format!("call-{call}"), "http_get", args())).collect();
    let answers = futures::future::join_all(calls.into_iter().map(|call| client.decide(call))).await;
    let places: Vec<u64> = answers.into_iter().map(|answer| answer.unwrap().run_seq).collect();
    assert_eq!(places, (1..=60).collect::<Vec<_>>());

    // By hand: what is no greeting, what is no call, what is too long.
    let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read).lines();
    write.write_all(b"{\"method\":\"hello\",\"proto\":14}\n{}\n{\"method\":\"fly\"}\n{\"method\":\"decide\",\"run_id\":1}\n").await.unwrap();
    for expected in ["not spoken", "names its method", "there is no method", "invalid_request"] {
        let line = read.next_line().await.unwrap().unwrap();
        assert!(line.contains(expected), "{line}");
    }
    let long = vec![b'x'; (1 << 20) + 2];
    let _ = write.write_all(&long).await;
    assert!(read.next_line().await.unwrap().unwrap().contains("1 MiB"));
    assert_eq!(read.next_line().await.unwrap(), None);

    stop.send(()).unwrap();
    served.await.unwrap();
    let gone = client.call(Request::Status).await.unwrap_err();
    assert_eq!(gone.code, FaultCode::Unavailable);
}
