//! Who runs the blocks of a frame.

use super::frame::BlockJob;

/// Jobs that a frame is cut into at most. They live on the stack, so that a frame allocates nothing.
pub const MAX_JOBS: usize = 64;

/// Runs jobs, each once, on whatever threads it has, and returns when all are done.
pub trait Executor: Sync {
    /// Threads that jobs will be spread over; a frame is cut into a few jobs per worker. Asked once a frame, and 0
    /// counts as 1: any answer is safe, a wrong one only spreads the work badly.
    fn workers(&self) -> usize;
    /// Calls [`BlockJob::run`] on every job, in any order, in parallel if it likes. Characters of a job that is left
    /// out stand still for this frame; a second call on the same job does nothing.
    fn run(&self, jobs: &mut [BlockJob<'_>]);
}

/// One after the other, on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Executor for Serial {
    fn workers(&self) -> usize {
        1
    }
    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        for job in jobs {
            job.run();
        }
    }
}

/// On rayon's current pool. Enter the pool once (`pool.install`) around the frame loop: entering it from
/// outside allocates.
#[cfg(feature = "rayon")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Rayon;

#[cfg(feature = "rayon")]
impl Executor for Rayon {
    fn workers(&self) -> usize {
        rayon::current_num_threads()
    }
    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        // Split in halves by hand: `par_iter_mut` would do, this shows a host what the seam asks for.
        match jobs {
            [] => {}
            [job] => job.run(),
            _ => {
                let (left, right) = jobs.split_at_mut(jobs.len() / 2);
                rayon::join(|| self.run(left), || self.run(right));
            }
        }
    }
}
