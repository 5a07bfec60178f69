//! One execution, and what must be true after it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hapax::{Clock, DedupSet, HashPair};
use hapax_axum::{Ending, WebhookLayer};
use hapax_proof::{
    collide::Collide,
    history::{Claimed, Event},
    record::Moving,
    schedule::config,
};
use hapax_store::{ClaimStore, Key, MemoryStore, Outcome, StoreLease};
use shuttle::{Runner, future::block_on, scheduler::Scheduler, thread};

use crate::{
    endpoint::{SCOPE, id, layer, send, turn},
    plan::{IDS, Plan},
    planted::{Bug, Planted},
    trace::{Moment, Trace, World, release, token},
};

/// A request's future, polled on a thread's own stack, is large.
const STACK_BYTES: usize = 512 * 1024;

/// Runs the plan in each interleaving that the scheduler names.
pub(crate) fn run(plan: &Plan, bug: Option<Bug>, scheduler: impl Scheduler + 'static) {
    let mut config = config();
    config.stack_size = STACK_BYTES;
    let plan = Arc::new(plan.clone());
    Runner::new(scheduler, config).run(move || execute(&plan, bug));
}

fn execute(plan: &Arc<Plan>, bug: Option<Bug>) {
    let world = Arc::new(World::new(plan));
    let set = DedupSet::builder()
        .retention(Duration::from_millis(plan.retention_ms))
        .capacity(1)
        .shards(1)
        .hasher(Collide { colliding: false })
        .clock(world.clock.clone())
        .build()
        .expect("a good set");
    let store = MemoryStore::from(set);
    let layer = layer(plan, Planted::new(store.clone(), bug)).expect("a good layer");

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without input and output");
    let runtime = Arc::new(runtime);
    // All of shuttle's threads are one thread to tokio: this is for each of them.
    let _entered = runtime.enter();
    let is_over = Arc::new(AtomicBool::new(false));
    let turning = {
        let (runtime, world, is_over) = (runtime.clone(), world.clone(), is_over.clone());
        thread::spawn(move || turn(&runtime, &world, &is_over))
    };

    let mut name = 0;
    let senders: Vec<_> = (0..plan.senders.len())
        .map(|sender| {
            let (layer, world, first) = (layer.clone(), world.clone(), name);
            name += plan.senders[sender].len() as u32;
            thread::spawn(move || {
                let names = first..;
                let sent = world.plan.senders[sender].iter();
                sent.zip(names)
                    .map(|(&sent, name)| {
                        let trace = Trace::new(name, sent, &world);
                        let answer = send(&layer, &world, &trace);
                        (trace, answer)
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    if let Some(deadline) = plan.drain_ms {
        block_on(layer.drain(Duration::from_millis(deadline)));
    }
    let requests: Vec<_> = senders
        .into_iter()
        .flat_map(|sender| sender.join().expect("no sender panics"))
        .collect();
    // What hangs is stopped; what was handed over ends by itself.
    block_on(layer.drain(Duration::from_millis(plan.limit_ms)));
    // Relaxed: one thread at a time runs.
    is_over.store(true, Ordering::Relaxed);
    turning.join().expect("the runtime does not panic");

    let last = world.now();
    for (trace, answer) in &requests {
        trace.conclude(&world, *answer, last);
    }
    add_up(&layer, &requests);
    aftermath(&world, &store, name);
    // Claims that were won and given back before their handler started, when nobody
    // was there to be told, or were told as one of a batch, are in no history.
    let won: u64 = requests.iter().map(|(trace, _)| trace.won()).sum();
    let vague = |(trace, answer): &Request| answer.is_none() || trace.sent.ids.len() > 1;
    if layer.counters().first == won || !requests.iter().any(vague) {
        world.check();
    }
}

type Request = (Arc<Trace>, Option<(Ending, Moment)>);

/// Every id that was sent is in one counter, every claim has ended, nobody is left.
fn add_up(layer: &WebhookLayer, requests: &[Request]) {
    let counters = layer.counters();
    let refused = |answer| matches!(answer, Some((Ending::Rejected(_), _)));
    let (refused, rest): (Vec<_>, Vec<_>) = requests.iter().partition(|r| refused(r.1));
    let ids = rest.iter().map(|(trace, _)| trace.sent.ids.len() as u64);
    let answered = counters.first + counters.duplicate + counters.in_flight;
    assert_eq!(answered, ids.sum::<u64>(), "ids: {counters:?}");
    assert_eq!(
        counters.rejected.total(),
        refused.len() as u64,
        "refused: {counters:?}"
    );
    let ended = counters.completed + counters.released + counters.lost;
    assert_eq!(counters.first, ended, "claims: {counters:?}");
    assert_eq!(counters.running, 0, "handlers: {counters:?}");
    let left = block_on(layer.drain(Duration::ZERO)).stopped;
    assert_eq!(left, 0, "tasks");
}

/// What is left must be what the answers imply, and be over in time.
fn aftermath(
    world: &World,
    store: &MemoryStore<impl HashPair + 'static, impl Clock + 'static>,
    name: u32,
) {
    let contains = |n: usize| {
        let key = Key::new(SCOPE, id(n).as_bytes());
        let from = world.now();
        let answer = store.set().contains(&key);
        world.note(n, name, from, world.now(), Event::Contains { answer });
        key
    };
    for n in 0..IDS {
        let key = contains(n);
        let from = world.now();
        let lease = Duration::from_millis(world.plan.lease_ms);
        let claimed = block_on(store.claim(&key, lease)).expect("no limit");
        let answer = match &claimed {
            Outcome::First(_) => Claimed::First(token(name, n)),
            Outcome::InFlight { .. } => Claimed::InFlight,
            Outcome::Duplicate { .. } => Claimed::Duplicate,
        };
        let at = world.now();
        world.note(n, name, from, at, world.claim(answer));
        if let Outcome::First(lease) = claimed {
            block_on(lease.release()).expect("memory answers");
            world.note(n, name, at, world.now(), release(token(name, n)));
        }
    }
    world
        .clock
        .move_on(world.plan.retention_ms + world.plan.lease_ms + 4);
    for n in 0..IDS {
        contains(n);
    }
    assert!(
        store.set().is_empty(),
        "all is over: {:?}",
        store.set().stats()
    );
}
