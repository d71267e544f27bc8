//! How tokens are chosen and when generation ends.
//!
//! Owns: the effective settings of a sequence and where each came from, token counts for penalties, guides, stop strings, finish
//! reasons.
//! Never: the arithmetic on logits (a backend's), or whose sequence it is (`rank`).

mod guide;
mod history;
mod settings;
mod stops;

pub use guide::{Guide, GuideCompiler, GuideSpec, LazyGuideCompiler};
pub use history::TokenHistory;
pub use settings::{SettingSource, Settings, limits};
pub use stops::{StopMatcher, StopScan};

/// Why a sequence ended. The numbers are those of the C ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum FinishReason {
    #[default]
    NotFinished = 0,
    EndOfSequence = 1,
    MaxLength = 2,
    Cancelled = 3,
    Error = 4,
    StopWords = 5,
}

impl FinishReason {
    /// `"end-of-sequence"`, `"max-length"`, …
    pub const fn name(self) -> &'static str {
        match self {
            FinishReason::NotFinished => "not-finished",
            FinishReason::EndOfSequence => "end-of-sequence",
            FinishReason::MaxLength => "max-length",
            FinishReason::Cancelled => "cancelled",
            FinishReason::Error => "error",
            FinishReason::StopWords => "stop-words",
        }
    }
}
