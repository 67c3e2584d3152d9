//! defmt's frames on the second serial line.

use super::machine::send_frames;
use spin::Mutex;

#[defmt::global_logger]
struct Line;

static ENCODER: Mutex<defmt::Encoder> = Mutex::new(defmt::Encoder::new());

// SAFETY: the image logs from one context only, its main program: no frame begins within another, and `write` and `release`
// come between their `acquire` and the next.
unsafe impl defmt::Logger for Line {
    fn acquire() {
        ENCODER.lock().start_frame(send_frames);
    }

    unsafe fn flush() {}

    unsafe fn release() {
        ENCODER.lock().end_frame(send_frames);
    }

    unsafe fn write(bytes: &[u8]) {
        ENCODER.lock().write(bytes, send_frames);
    }
}
