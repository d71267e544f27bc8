//! Saved system prompts: prefixes of the context cache that stay until they are removed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::dispatch::{Dispatch, first_error};
use super::prepare;
use super::request::{Request, SequenceOptions};
use super::schedule::Chunks;
use crate::artifacts::ModelArtifacts;
use crate::cache::{CacheIdentity, NodeId};
use crate::error::{CapacityNumbers, Error, Result};
use crate::rank::{CacheCommit, CachePolicy, RankRuntime, Seed};
use crate::text::{Content, EncodeOptions, Message};

/// A saved system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPrompt {
    /// As it was given.
    pub text: String,
    /// Tokens of its rendered form.
    pub tokens: usize,
    /// Tokens whose keys and values are kept: whole pages.
    pub kept_tokens: usize,
}

#[derive(Debug)]
struct Entry {
    tokens: usize,
    pinned: Option<(NodeId, usize)>,
}

/// The prompts saved in one rank's pool.
#[derive(Debug, Default)]
pub(super) struct SystemPrompts {
    entries: BTreeMap<String, Entry>,
}

impl SystemPrompts {
    pub(super) fn contains(&self, prompt: &str) -> bool {
        self.entries.contains_key(prompt)
    }

    pub(super) fn list(&self) -> Vec<SavedPrompt> {
        let saved = |(text, entry): (&String, &Entry)| SavedPrompt {
            text: text.clone(),
            tokens: entry.tokens,
            kept_tokens: entry.pinned.map_or(0, |(_, tokens)| tokens),
        };
        self.entries.iter().map(saved).collect()
    }

    /// Computes `prompt`'s keys and values and keeps them. Nothing to do where it is saved or empty.
    pub(super) fn save(
        &mut self,
        artifacts: &ModelArtifacts,
        rank: &mut RankRuntime,
        chunks: Chunks,
        prompt: &str,
        stop: &AtomicBool,
    ) -> Result<()> {
        if prompt.is_empty() || self.contains(prompt) {
            return Ok(());
        }
        let ids = crate::text::on_deep_stack(|| prefix(artifacts, prompt))?;
        let capacity = rank.limits().max_sequence;
        if ids.len() >= capacity {
            let numbers = CapacityNumbers { prompt: ids.len() as u64, requested: 1, limit: capacity as u64 };
            let message = format!("system prompt: {} tokens, expected at most {}", ids.len(), capacity.saturating_sub(1));
            return Err(Error::context_full(message).with_capacity(numbers));
        }
        let identity = CacheIdentity::default();
        let tokens = ids.len();
        if tokens > 0 {
            let seed = Seed {
                index: 0,
                prompt: ids.clone(),
                settings: prepare::greedy(1),
                bias: Vec::new(),
                end_tokens: Arc::from([]),
                stops: Vec::new(),
                stream: None,
                on_token: None,
                ropes: artifacts.decoder().ropes_for(tokens + 1),
                identity: identity.clone(),
                cache: CachePolicy { lookup: true, commit: CacheCommit::Prompt },
                hidden: None,
                guide: None,
                warnings: Vec::new(),
            };
            let sequence = rank.sequence(seed);
            let (results, _) = Dispatch::new(rank, chunks, stop, VecDeque::from([sequence]), Instant::now()).run(|_| ());
            first_error(&results)?;
        }
        let pinned = rank.pin(&identity, &ids);
        self.entries.insert(prompt.to_string(), Entry { tokens, pinned });
        Ok(())
    }

    /// Lets a prompt's pages go when others need the room. `false`: it was not saved.
    pub(super) fn remove(&mut self, rank: &mut RankRuntime, prompt: &str) -> bool {
        let Some(entry) = self.entries.remove(prompt) else { return false };
        if let Some((node, _)) = entry.pinned {
            rank.unpin(node);
        }
        true
    }
}

/// The ids that every chat with this system prompt begins with. A text with control tokens in it is the rendered form already;
/// anything else is the system message's text, and what its chats share is found by rendering two that differ after it.
fn prefix(artifacts: &ModelArtifacts, prompt: &str) -> Result<Vec<u32>> {
    let tokenizer = artifacts.tokenizer();
    let plain = tokenizer.encode(prompt, EncodeOptions { add_special: false, parse_special: true })?;
    if plain.iter().any(|&id| tokenizer.is_control(id)) {
        return prepare::encode_rendered_text(artifacts, prompt);
    }
    let chat = |user: &str| {
        let messages = [("system", prompt), ("user", user)].map(|(role, text)| Message::new(role, Content::from(text)));
        prepare::render_and_encode(artifacts, &messages, &SequenceOptions::default())
    };
    let (one, other) = (chat("a")?, chat("1 b")?);
    let shared = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    Ok(one[..shared].to_vec())
}

/// System messages of the sequences of a request that ask for theirs to be saved.
pub(super) fn asked_for(request: &Request) -> impl Iterator<Item = String> + '_ {
    request.sequences.iter().filter_map(|sequence| {
        let asked = sequence.options.or(&request.defaults).save_system_prompt.unwrap_or(false);
        let super::request::Input::Messages(messages) = &sequence.input else { return None };
        let system = messages.first().filter(|message| asked && message.role == "system")?;
        system.text().ok()
    })
}
