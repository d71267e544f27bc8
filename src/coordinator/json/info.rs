//! What a model is, as JSON.

use serde_json::Value;

use crate::artifacts::ModelInfo;
use crate::error::{Error, Result};

/// A model's description.
pub fn info_to_json(info: &ModelInfo) -> Result<String> {
    Ok(model(info)?.to_string())
}

pub(super) fn model(info: &ModelInfo) -> Result<Value> {
    serde_json::to_value(info).map_err(|e| Error::internal(format!("model info: {e}")))
}

/// What this build can load and run on.
pub fn capabilities_to_json() -> String {
    serde_json::json!({
        "architectures": crate::model::supported_architectures(),
        "stored_types": crate::weights::StoredType::ALL.iter().map(|stored| stored.name()).collect::<Vec<_>>(),
        "devices": if cfg!(feature = "cuda") { &["cpu", "cuda"][..] } else { &["cpu"] },
    })
    .to_string()
}
