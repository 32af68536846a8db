//! serve REQUESTS THREADS: an HTTP server on hyper and tokio that keeps JSON, and its clients, in one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{client, server, service::service_fn, Request, Response};
use hyper_util::rt::TokioIo;
use jobs::{argument, hash_of, Chance};
use serde_json::{json, Value};
use tokio::net::{TcpListener, TcpStream};

const CLIENTS: usize = 32; // connections that stay open
const KEYS: u64 = 200; // of each client

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Store = Arc<Mutex<HashMap<String, Value>>>;

fn main() -> Result<(), Failure> {
    let (requests, threads) = (argument(1), argument(2));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        tokio::spawn(serve(listener, Store::default()));
        let clients: Vec<_> = (0..CLIENTS).map(|number| tokio::spawn(ask(port, number as u64, requests / CLIENTS))).collect();
        let mut sum = 0u64;
        for client in clients {
            sum = sum.wrapping_add(client.await??);
        }
        println!("{} requests, {sum:016x}", requests / CLIENTS * CLIENTS);
        Ok(())
    })
}

async fn serve(listener: TcpListener, store: Store) -> Result<(), Failure> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let store = store.clone();
        let service = service_fn(move |request| answer(request, store.clone()));
        tokio::spawn(server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// POST keeps the body, which is JSON, and says what it replaces; GET gives it, with what was asked for.
async fn answer(request: Request<Incoming>, store: Store) -> Result<Response<Full<Bytes>>, Failure> {
    let key = request.uri().path().to_owned();
    let said = if request.method() == "POST" {
        let value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
        json!({"key": key, "was": store.lock().unwrap().insert(key.clone(), value).is_some()})
    } else {
        json!({"key": key, "value": store.lock().unwrap().get(&key)})
    };
    Ok(Response::new(Full::new(Bytes::from(said.to_string()))))
}

/// The sum of the hashes of the answers.
async fn ask(port: u16, number: u64, requests: usize) -> Result<u64, Failure> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (mut chance, mut sum) = (Chance::new(number), 0u64);
    for _ in 0..requests {
        let builder = Request::builder().uri(format!("/{number}/{}", chance.below(KEYS))).header("host", "localhost");
        let words: Vec<String> = (0..chance.below(4) * chance.below(60)).map(|_| chance.word()).collect();
        let request = if chance.below(3) == 0 {
            builder.method("POST").body(json!({"words": words}).to_string())?
        } else {
            builder.body(String::new())?
        };
        let answer = sender.send_request(request).await?.into_body().collect().await?.to_bytes();
        sum = sum.wrapping_add(hash_of(&answer));
    }
    Ok(sum)
}
