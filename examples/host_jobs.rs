//! A crowd on the host's own job system: threads that were started long ago, parked between frames, and that draw
//! jobs by number. What the seam asks for is in docs/guides/host_jobs.md.
#![allow(unsafe_code)] // Threads that outlive a borrow cannot be lent one in safe code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    BlockJob, Crowd, CrowdConfig, Executor, FlatGround, Frame, Handle, Play, Serial, WorldTransform,
};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// What the threads share. Nothing here is allocated in a frame.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
    /// Number of the next job to be drawn.
    next: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Address and count of the jobs at hand.
    jobs: (usize, usize),
    /// Goes up with every list of jobs.
    round: u64,
    /// Workers that may still look at the list.
    busy: usize,
    panicked: bool,
    stop: bool,
}

impl Desk {
    /// Draws jobs until there are none.
    fn work(&self, (address, count): (usize, usize)) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            // SAFETY: `Pool::run` borrows `count` jobs from this address mutably and returns only when no worker is busy
            // any more, also when one panics; every number is drawn once, so no job is lent twice.
            let job = unsafe { &mut *(address as *mut BlockJob<'_>).add(at) };
            job.run();
        }
    }

    fn worker(&self) {
        let mut seen = 0;
        loop {
            let jobs = {
                let mut state = self.state.lock().expect("nobody panics with the lock");
                while state.round == seen && !state.stop {
                    state = self.wake.wait(state).expect("nobody panics with the lock");
                }
                if state.stop {
                    return;
                }
                seen = state.round;
                state.jobs
            };
            // A panic (a ground's, say) must not leave the frame waiting for ever.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.work(jobs)));
            let mut state = self.state.lock().expect("nobody panics with the lock");
            state.panicked |= outcome.is_err();
            state.busy -= 1;
            if state.busy == 0 {
                self.done.notify_all();
            }
        }
    }
}

/// The host's threads.
struct Pool {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    fn new(threads: usize) -> Self {
        let desk = Arc::new(Desk::default());
        let start = |_| {
            let desk = Arc::clone(&desk);
            std::thread::spawn(move || desk.worker())
        };
        Self { threads: (0..threads).map(start).collect(), desk }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.desk.state.lock().expect("nobody panics with the lock").stop = true;
        self.desk.wake.notify_all();
        for thread in self.threads.drain(..) {
            thread.join().expect("workers catch panics");
        }
    }
}

impl Executor for Pool {
    /// The thread that calls `frame` works too.
    fn workers(&self) -> usize {
        self.threads.len() + 1
    }

    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        let list = (jobs.as_mut_ptr() as usize, jobs.len());
        {
            let mut state = self.desk.state.lock().expect("nobody panics with the lock");
            self.desk.next.store(0, Ordering::Relaxed);
            state.jobs = list;
            state.busy = self.threads.len();
            state.round += 1;
        }
        self.desk.wake.notify_all();
        let own = catch_unwind(AssertUnwindSafe(|| self.desk.work(list)));
        let mut state = self.desk.state.lock().expect("nobody panics with the lock");
        while state.busy > 0 {
            state = self.desk.done.wait(state).expect("nobody panics with the lock");
        }
        let panicked = std::mem::take(&mut state.panicked);
        drop(state);
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!panicked, "a job panicked on a worker");
    }
}

fn crowd() -> Result<(Crowd, Vec<Handle>), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let mut crowd = Crowd::new(CrowdConfig::default());
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;
    let (rig, walk) = (crowd.add_rig(rig)?, crowd.add_clip(walk)?);
    let mut handles = Vec::new();
    for i in 0..1000 {
        let place = WorldTransform::standing((i % 40) as f32, (i / 40) as f32, i as f32);
        handles.push(crowd.spawn(rig, 0, place, &[Play { time: 0.01 * i as f32, ..Play::new(walk) }])?);
    }
    Ok((crowd, handles))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::new(std::thread::available_parallelism().map_or(2, |count| count.get()).clamp(2, 8) - 1);
    let ((mut mine, handles), (mut plain, _)) = (crowd()?, crowd()?);
    let ground = FlatGround::default();
    for _ in 0..100 {
        let frame = Frame::new(1.0 / 60.0, &ground);
        mine.frame(frame, &pool)?;
        plain.frame(frame, &Serial)?;
    }
    for &handle in &handles {
        assert_eq!(mine.pose(handle)?, plain.pose(handle)?, "who runs the jobs makes no difference to a bit");
    }
    println!("{} characters, 100 frames on {} threads: the same bits as on one", mine.len(), pool.workers());
    Ok(())
}
