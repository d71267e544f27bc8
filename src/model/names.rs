//! Which tensor of a decoder is called what in which kind of file.

use std::fmt;

/// What a tensor does. Per layer, but for the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Embedding,
    FinalNorm,
    Head,
    AttentionNorm,
    Query,
    Key,
    Value,
    Output,
    QueryNorm,
    KeyNorm,
    PostAttentionNorm,
    MlpNorm,
    Gate,
    Up,
    Down,
    PostMlpNorm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Weight,
    Bias,
}

/// A tensor of a decoder, whatever files call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId {
    /// `None` for the tensors outside the layers.
    pub layer: Option<usize>,
    pub role: Role,
    pub kind: Kind,
}

impl TensorId {
    pub fn weight(layer: impl Into<Option<usize>>, role: Role) -> Self {
        TensorId { layer: layer.into(), role, kind: Kind::Weight }
    }

    pub fn bias(layer: impl Into<Option<usize>>, role: Role) -> Self {
        TensorId { layer: layer.into(), role, kind: Kind::Bias }
    }

    /// The name adapters address it by, whichever file it came from: `model.layers.0.self_attn.q_proj`.
    pub fn module(&self, names: &[RoleNames]) -> String {
        Root::PLAIN.stem(self, find(names, self.role))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Weight => "weight",
            Kind::Bias => "bias",
        })
    }
}

/// A role's name: within a layer of a Hugging Face checkpoint, and within a block of a GGUF file.
#[derive(Clone, Copy, Debug)]
pub struct RoleNames {
    pub role: Role,
    pub hf: &'static str,
    pub gguf: &'static str,
}

const fn role(role: Role, hf: &'static str, gguf: &'static str) -> RoleNames {
    RoleNames { role, hf, gguf }
}

/// Blocks with a norm before attention and before the MLP: Llama and most that follow it.
pub const PRE_NORM: &[RoleNames] = &[
    role(Role::Embedding, "embed_tokens", "token_embd"),
    role(Role::FinalNorm, "norm", "output_norm"),
    role(Role::Head, "lm_head", "output"),
    role(Role::AttentionNorm, "input_layernorm", "attn_norm"),
    role(Role::Query, "self_attn.q_proj", "attn_q"),
    role(Role::Key, "self_attn.k_proj", "attn_k"),
    role(Role::Value, "self_attn.v_proj", "attn_v"),
    role(Role::Output, "self_attn.o_proj", "attn_output"),
    role(Role::QueryNorm, "self_attn.q_norm", "attn_q_norm"),
    role(Role::KeyNorm, "self_attn.k_norm", "attn_k_norm"),
    role(Role::MlpNorm, "post_attention_layernorm", "ffn_norm"),
    role(Role::Gate, "mlp.gate_proj", "ffn_gate"),
    role(Role::Up, "mlp.up_proj", "ffn_up"),
    role(Role::Down, "mlp.down_proj", "ffn_down"),
];

/// Blocks with norms before and after both: entries here come before those of [`PRE_NORM`].
pub const SANDWICH_NORM: &[RoleNames] = &[
    role(Role::PostAttentionNorm, "post_attention_layernorm", "post_attention_norm"),
    role(Role::MlpNorm, "pre_feedforward_layernorm", "ffn_norm"),
    role(Role::PostMlpNorm, "post_feedforward_layernorm", "post_ffw_norm"),
];

/// The entry of `role`: a family's own, or the common one.
fn find(names: &[RoleNames], role: Role) -> &RoleNames {
    let known = names.iter().chain(PRE_NORM).find(|n| n.role == role);
    known.unwrap_or_else(|| unreachable!("no name for {role:?}: a family with this role lists it"))
}

/// Where a Hugging Face checkpoint keeps the decoder: multimodal checkpoints nest it.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    pub body: &'static str,
    pub head: &'static str,
}

impl Root {
    pub const PLAIN: Root = Root { body: "model.", head: "" };

    fn stem(&self, id: &TensorId, names: &RoleNames) -> String {
        match (id.layer, id.role) {
            (Some(layer), _) => format!("{}layers.{layer}.{}", self.body, names.hf),
            (None, Role::Head) => format!("{}{}", self.head, names.hf),
            (None, _) => format!("{}{}", self.body, names.hf),
        }
    }
}

/// How one file calls the decoder's tensors.
#[derive(Clone, Copy, Debug)]
pub enum Naming {
    HuggingFace(Root),
    Gguf,
}

impl Naming {
    pub fn name(&self, id: &TensorId, names: &[RoleNames]) -> String {
        let own = find(names, id.role);
        let stem = match (self, id.layer) {
            (Naming::HuggingFace(root), _) => root.stem(id, own),
            (Naming::Gguf, Some(layer)) => format!("blk.{layer}.{}", own.gguf),
            (Naming::Gguf, None) => own.gguf.to_owned(),
        };
        format!("{stem}.{}", id.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as published checkpoints and llama.cpp's converters have them.
    #[test]
    fn names_follow_the_file() {
        let hf = Naming::HuggingFace(Root::PLAIN);
        let id = TensorId::bias(7, Role::Key);
        assert_eq!(hf.name(&id, &[]), "model.layers.7.self_attn.k_proj.bias");
        assert_eq!(Naming::Gguf.name(&id, &[]), "blk.7.attn_k.bias");
        assert_eq!(id.module(&[]), "model.layers.7.self_attn.k_proj");
        let head = TensorId::weight(None, Role::Head);
        assert_eq!((hf.name(&head, &[]), Naming::Gguf.name(&head, &[])), ("lm_head.weight".into(), "output.weight".into()));
    }

    #[test]
    fn a_familys_own_names_come_first() {
        let hf = Naming::HuggingFace(Root { body: "language_model.model.", head: "language_model." });
        let norm = |role| TensorId::weight(0, role);
        let body = "language_model.model.layers.0";
        assert_eq!(hf.name(&norm(Role::MlpNorm), SANDWICH_NORM), format!("{body}.pre_feedforward_layernorm.weight"));
        assert_eq!(hf.name(&norm(Role::PostAttentionNorm), SANDWICH_NORM), format!("{body}.post_attention_layernorm.weight"));
        assert_eq!(Naming::Gguf.name(&norm(Role::PostMlpNorm), SANDWICH_NORM), "blk.0.post_ffw_norm.weight");
        assert_eq!(hf.name(&TensorId::weight(None, Role::Head), SANDWICH_NORM), "language_model.lm_head.weight");
    }
}
