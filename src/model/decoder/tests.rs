use super::*;
use crate::backend::Activation;
use crate::model::names::Kind;

fn layer(window: Option<usize>) -> Layer {
    let attention = Attention {
        heads: 4,
        kv_heads: 2,
        head_dim: 16,
        window,
        rope: 0,
        scale: 0.25,
        softcap: None,
        qkv_bias: false,
        output_bias: false,
        qk_norm: false,
    };
    Layer { attention, mlp: Mlp { width: 96, activation: Activation::Silu, bias: false }, post_norms: false }
}

fn spec(layers: Vec<Layer>) -> Spec {
    Spec {
        hidden: 48,
        vocab: 101,
        context_length: 64,
        rms_eps: 1e-5,
        embed_scale: 1.0,
        tied_head: false,
        logit_softcap: None,
        ropes: vec![RopeSpec::plain(1e4, 16)],
        layers,
    }
}

/// Every op reads slots that an earlier op wrote, in the widths its operands have.
fn check(decoder: &Decoder) {
    let program = decoder.program();
    let width = |slot: SlotId| program.slots[slot.0 as usize].width;
    let rows = |slot: SlotId| program.slots[slot.0 as usize].rows;
    let shape = |weight: WeightId| {
        let slot = &decoder.weights()[weight.0 as usize];
        (slot.parts.iter().map(|p| p.rows.size()).sum::<usize>(), slot.cols.size())
    };
    let len = |vector: VectorId| decoder.vectors()[vector.0 as usize].parts.iter().map(|p| p.rows.size()).sum::<usize>();
    let mut written = vec![false; program.slots.len()];
    for op in &program.ops {
        let (reads, writes) = match *op {
            Op::Embed { table, out, .. } => {
                assert!(decoder.weights()[table.0 as usize].uses.embed && shape(table) == (program.vocab, width(out)));
                (vec![], Some(out))
            }
            Op::RmsNorm { x, weight, out, .. } => {
                assert!(width(x) == width(out) && rows(x) == rows(out) && len(weight) == width(x));
                (vec![x], Some(out))
            }
            Op::Linear { x, weight, bias, out } => {
                assert!(decoder.weights()[weight.0 as usize].uses.linear && shape(weight) == (width(out), width(x)));
                assert!(bias.is_none_or(|bias| len(bias) == width(out)) && rows(x) == rows(out));
                (vec![x], Some(out))
            }
            Op::Add { x, into } => {
                assert_eq!(width(x), width(into));
                (vec![x, into], Some(into))
            }
            Op::RopeKvWrite { qkv, attention, q_norm, k_norm } => {
                assert_eq!(width(qkv), (attention.heads + 2 * attention.kv_heads) * attention.head_dim);
                assert!([q_norm, k_norm].iter().flatten().all(|norm| len(norm.weight) == attention.head_dim));
                (vec![qkv], Some(qkv))
            }
            Op::Attention { qkv, attention, out } => {
                assert_eq!(width(out), attention.heads * attention.head_dim);
                assert!(attention.layer < program.kv_groups[attention.group].layers);
                (vec![qkv], Some(out))
            }
            Op::GatedAct { gate_up, out, .. } => {
                assert_eq!(width(gate_up), 2 * width(out));
                (vec![gate_up], Some(out))
            }
            Op::SelectOutputs { x, out } => {
                assert!(rows(x) == RowClass::Tokens && rows(out) == RowClass::Outputs && width(x) == width(out));
                (vec![x], Some(out))
            }
            Op::Logits { x, weight, .. } => {
                assert!(rows(x) == RowClass::Outputs && decoder.weights()[weight.0 as usize].uses.linear);
                assert_eq!(shape(weight), (program.vocab, width(x)));
                (vec![x], None)
            }
        };
        assert!(reads.iter().all(|slot| written[slot.0 as usize]), "{op:?} reads a slot nothing wrote");
        writes.into_iter().for_each(|slot| written[slot.0 as usize] = true);
    }
    assert!(written.iter().all(|&w| w), "a slot is never written");
}

#[test]
fn a_plain_block_is_eleven_ops_over_shared_slots() {
    let decoder = Decoder::build(&spec(vec![layer(None), layer(None)]));
    check(&decoder);
    let program = decoder.program();
    // Embed, two blocks of norm, qkv, rope, attention, output, add, norm, gate|up, act, down, add, then select, norm, logits.
    assert_eq!(program.ops.len(), 1 + 2 * 11 + 3);
    assert_eq!(program.slots.len(), 7);
    assert_eq!(program.kv_groups, [KvGroup { layers: 2, kv_heads: 2, head_dim: 16, retention: Retention::Full }]);
    // Table, four matrices a block, head.
    assert_eq!((decoder.weights().len(), decoder.vectors().len()), (1 + 2 * 4 + 1, 2 * 2 + 1));
}

#[test]
fn fused_weights_are_made_of_named_parts_in_order() {
    let decoder = Decoder::build(&spec(vec![layer(None)]));
    let roles = |index: usize| decoder.weights()[index].parts.iter().map(|p| p.tensor.role).collect::<Vec<_>>();
    assert_eq!(roles(1), [Role::Query, Role::Key, Role::Value]);
    assert_eq!(roles(3), [Role::Gate, Role::Up]);
    assert_eq!(decoder.weights()[1].parts.iter().map(|p| p.rows.size()).collect::<Vec<_>>(), [64, 32, 32]);
}

#[test]
fn a_tied_head_is_the_table_packed_for_both_uses() {
    let decoder = Decoder::build(&Spec { tied_head: true, ..spec(vec![layer(None)]) });
    check(&decoder);
    assert_eq!(decoder.weights()[0].uses, WeightUse { embed: true, linear: true });
    assert!(matches!(decoder.program().ops.last(), Some(Op::Logits { weight: WeightId(0), .. })));
    assert!(decoder.weights().iter().all(|w| w.parts[0].tensor.role != Role::Head));
}

#[test]
fn layers_of_equal_shape_and_retention_share_a_group() {
    let windows = [Some(8), Some(8), None, Some(8), Some(16)];
    let decoder = Decoder::build(&spec(windows.map(layer).to_vec()));
    check(&decoder);
    let layers: Vec<_> = decoder.program().kv_groups.iter().map(|g| (g.layers, g.retention)).collect();
    let sliding = |window| Retention::Sliding { window };
    assert_eq!(layers, [(3, sliding(8)), (1, Retention::Full), (1, sliding(16))]);
    let places: Vec<_> = decoder
        .program()
        .ops
        .iter()
        .filter_map(|op| match op {
            Op::Attention { attention, .. } => Some((attention.group, attention.layer)),
            _ => None,
        })
        .collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (0, 2), (2, 0)]);
}

#[test]
fn norms_and_biases_appear_where_the_spec_has_them() {
    let mut rich = layer(None);
    rich.post_norms = true;
    rich.mlp.bias = true;
    rich.attention = Attention { qkv_bias: true, output_bias: true, qk_norm: true, ..rich.attention };
    let decoder = Decoder::build(&spec(vec![rich]));
    check(&decoder);
    let vectors: Vec<_> = decoder.vectors().iter().flat_map(|v| &v.parts).map(|p| (p.tensor.role, p.tensor.kind)).collect();
    let weight = |role| (role, Kind::Weight);
    let bias = |role| (role, Kind::Bias);
    assert_eq!(
        vectors,
        [
            weight(Role::AttentionNorm),
            bias(Role::Query),
            bias(Role::Key),
            bias(Role::Value),
            weight(Role::QueryNorm),
            weight(Role::KeyNorm),
            bias(Role::Output),
            weight(Role::PostAttentionNorm),
            weight(Role::MlpNorm),
            bias(Role::Gate),
            bias(Role::Up),
            bias(Role::Down),
            weight(Role::PostMlpNorm),
            weight(Role::FinalNorm),
        ]
    );
}

/// DECISIONS 7: tables that depend on length are chosen once, when the sequence's longest length is known.
#[test]
fn only_sequences_past_the_original_length_get_their_own_table() {
    let scaling = super::super::rope::RopeScaling::Dynamic { factor: 2.0, original_length: 48 };
    let rope = RopeSpec { scaling, ..RopeSpec::plain(1e4, 16) };
    let decoder = Decoder::build(&Spec { ropes: vec![RopeSpec::plain(1e4, 16), rope.clone()], ..spec(vec![layer(None)]) });
    assert_eq!(decoder.ropes_for(48), []);
    assert_eq!(decoder.ropes_for(49), [(RopeId(1), rope.table_for(49))]);
}
