//! Twenty rooms of different kinds, played through the core. Writes each brief as text (`07.txt`) and, beside it, what
//! really happened (`07.truth.json`), from what the script did and not from the brief.
//!
//!     cargo run -p bench --bin briefs -- FOLDER

mod deals;
mod play;
mod rooms;

use bench::Outcome;
use std::path::PathBuf;

fn main() -> Outcome {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: briefs FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    for (index, room) in rooms::all()?.iter().enumerate() {
        let name = format!("{:02}", index + 1);
        std::fs::write(folder.join(format!("{name}.txt")), room.text()?)?;
        std::fs::write(folder.join(format!("{name}.truth.json")), room.truth()?)?;
    }
    println!("{} briefs in {}", rooms::COUNT, folder.display());
    Ok(())
}
