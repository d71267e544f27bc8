//! Nodes to launches. Geometry and arguments depend on the step's shape alone; what varies is read on the device.

use std::sync::Arc;

use super::Model;
use super::fuse::{Node, NormWeight};
use super::inputs::{Inputs, Layout, Shape};
use crate::backend::compile::lower::ValueId;
use crate::backend::cuda::cublas::{CublasLt, Product};
use crate::backend::cuda::driver::{CUdeviceptr, CUfunction, CUstream, Device, DeviceBytes, Geometry, launch};
use crate::backend::cuda::kernels::{Function, Kernels, Number, kv_name, stored_name};
use crate::backend::cuda::weights::Matrix;
use crate::backend::{Activation, AttentionLayer, HeadNorm, KvType, RowClass};
use crate::error::Result;
use crate::weights::StoredType;

/// Rows of the other side that a warp of the plain product keeps.
const LINEAR_ROWS: usize = 8;
/// Tiles of 8 rows that versions of `stream_linear` take at a time.
const STREAM_TILES: [usize; 3] = [1, 2, 4];
/// Blocks of attention that are enough for a device.
const PARTIALS: usize = 640;
/// Positions up to which one block does a row and a head.
const SHORT_CONTEXT: usize = 512;
/// Warps of a block where each has work of its own.
const WARPS: usize = 4;

/// The nodes with their kernels.
pub(super) struct Launches {
    /// Keeps the functions alive.
    kernels: Arc<Kernels>,
    nodes: Vec<(Node, Vec<Function>)>,
    angles: Function,
    softcap: Function,
    /// By [`Number`].
    add_bias: [Function; 2],
    number: Number,
    kv: &'static str,
    batch_invariant: bool,
    cublas: Option<CublasLt>,
    /// By [`Number`].
    merge: [Function; 2],
    /// Of attention whose positions are shared out.
    partials: DeviceBytes,
}

/// The version of the streaming kernels, an index into [`STREAM_TILES`], for so many rows.
fn tiles_for(rows: usize) -> usize {
    STREAM_TILES.into_iter().position(|tiles| rows <= 8 * tiles).unwrap_or(STREAM_TILES.len() - 1)
}

/// As `kernels/rows/activation.cuh` has it.
fn number_of(act: Activation) -> i32 {
    match act {
        Activation::Silu => 0,
        Activation::GeluTanh => 1,
        Activation::Gelu => 2,
    }
}

/// Whether a product with a weight runs in `stream_linear`.
fn streams(ty: StoredType, cols: usize, number: Number) -> bool {
    ty == StoredType::BF16 && number == Number::BF16 && cols.is_multiple_of(32)
}

/// Whether a product of gates and ups and their activation run in `stream_gated`.
pub(super) fn has_gated_product(weight: &Matrix, number: Number) -> bool {
    let [segment] = weight.segments.as_slice() else { return false };
    streams(segment.ty, weight.cols, number) && weight.rows.is_multiple_of(16)
}

/// Whether there is a `stream_attention` for such heads.
fn streams_attention(head_dim: usize, number: Number, kv: &str) -> bool {
    matches!(head_dim, 64 | 128 | 256) && !(number == Number::BF16 && kv == "float")
}

/// What kernels are chosen by.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Type of the branches.
    pub number: Number,
    pub kv: KvType,
    pub batch_invariant: bool,
}

/// Lists of one row class.
struct Rows {
    count: usize,
    positions: CUdeviceptr,
    table_of: CUdeviceptr,
}

/// Where a product's rows go, `stride` elements from one to the next.
#[derive(Clone, Copy)]
struct Out {
    start: CUdeviceptr,
    stride: usize,
    number: Number,
}

/// Whether there is a `tile_attention` for such heads.
fn tiles_attention(head_dim: usize, number: Number, kv: &str) -> bool {
    matches!(head_dim, 64 | 128) && number == Number::BF16 && kv != "float"
}

/// A step being launched.
struct Step<'a> {
    launches: &'a Launches,
    model: &'a Model,
    inputs: &'a Inputs,
    shape: Shape,
    layout: Layout,
    stream: CUstream,
}

impl Launches {
    /// Finds the kernels of all nodes.
    pub(super) fn new(
        device: &Arc<Device>,
        kernels: &Arc<Kernels>,
        nodes: Vec<Node>,
        model: &Model,
        options: Options,
        cublas: Option<CublasLt>,
    ) -> Result<Self> {
        let Options { number, kv, batch_invariant } = options;
        let (branch, kv) = (number.name(), kv_name(kv));
        let widest = model.pools.iter().map(|pool| pool.head_dim).max().unwrap_or(0);
        let partials = DeviceBytes::new(device, 4 * PARTIALS * (widest + 2), "partial attention results")?;
        let type_of = |value: ValueId| model.numbers[value].name();
        let of_node = |node: &Node| -> Result<Vec<Function>> {
            let one = |name: String| Ok(vec![kernels.get(&name)?]);
            let products = |weight: usize, to: &str| {
                let mut all = Vec::new();
                for segment in &model.weights[weight].segments {
                    if streams(segment.ty, model.weights[weight].cols, number) {
                        for tiles in STREAM_TILES {
                            all.push(kernels.get(&format!("stream_linear_{tiles}_{to}"))?);
                        }
                    } else {
                        all.push(kernels.get(&format!("simple_linear_{}_{branch}_{to}", stored_name(segment.ty)))?);
                    }
                }
                Ok(all)
            };
            match *node {
                Node::Embed { table, .. } => {
                    let segments = model.weights[table].segments.iter();
                    segments.map(|segment| kernels.get(&format!("embed_{}", stored_name(segment.ty)))).collect()
                }
                Node::Norm { x, out, .. } => one(format!("norm_{}_{}", type_of(x), type_of(out))),
                Node::AddNorm { .. } => one(format!("add_norm_{branch}")),
                Node::Linear { weight, out, .. } => products(weight, type_of(out)),
                Node::GatedLinear { .. } => {
                    let mut all = vec![kernels.get(&format!("gated_{branch}"))?];
                    for tiles in STREAM_TILES {
                        all.push(kernels.get(&format!("stream_gated_{tiles}"))?);
                    }
                    Ok(all)
                }
                Node::Logits { weight, .. } => products(weight, "float"),
                Node::RopeKv { .. } => one(format!("rope_kv_{branch}_{kv}")),
                Node::Attention { attention: AttentionLayer { head_dim, .. }, out, .. } => {
                    let mut all = match streams_attention(head_dim, number, kv) {
                        true => one(format!("stream_attention_{head_dim}_{branch}_{kv}"))?,
                        false => one(format!("simple_attention_{branch}_{kv}"))?,
                    };
                    // Its sums are in another order than those of steps of single rows.
                    let tokens = model.values[out].class == RowClass::Tokens;
                    if tiles_attention(head_dim, number, kv) && tokens && !batch_invariant {
                        all.push(kernels.get(&format!("tile_attention_{head_dim}_{kv}"))?);
                    }
                    Ok(all)
                }
                Node::Gated { .. } => one(format!("gated_{branch}")),
                Node::Gather { .. } | Node::Copy { .. } => one("gather".to_string()),
            }
        };
        let nodes = nodes.into_iter().map(|node| Ok((node, of_node(&node)?))).collect::<Result<_>>()?;
        Ok(Launches {
            nodes,
            angles: kernels.get("angles")?,
            softcap: kernels.get("softcap")?,
            add_bias: [kernels.get("add_bias_float")?, kernels.get("add_bias_bf16")?],
            number,
            kv,
            batch_invariant,
            cublas,
            merge: [kernels.get("merge_attention_float")?, kernels.get("merge_attention_bf16")?],
            partials,
            kernels: kernels.clone(),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.partials.len() + self.cublas.as_ref().map_or(0, CublasLt::bytes)
    }

    /// Puts a step of `shape` on `stream`. Its inputs are on the device, or will be by the time it runs.
    pub(super) fn run(&self, model: &Model, inputs: &Inputs, shape: Shape, stream: CUstream) -> Result<()> {
        let layout = Layout::new(shape, model.pools.len());
        let step = Step { launches: self, model, inputs, shape, layout, stream };
        step.angles()?;
        self.nodes.iter().try_for_each(|(node, functions)| step.node(node, functions))
    }
}

impl Step<'_> {
    fn angles(&self) -> Result<()> {
        for rope in &self.model.ropes {
            let block = rope.half.next_multiple_of(32).clamp(32, 256) as u32;
            let (seats, positions) = (self.inputs.at(self.layout.seats), self.inputs.at(self.layout.positions));
            // SAFETY: parameters of `angles`; seats and rows lie within the tables and the buffer.
            unsafe {
                launch!(self.launches.angles.0, self.geometry(self.shape.rows, 1, block), self.stream;
                    rope.tables.start(), rope.half as i32, seats, positions, rope.angles.start())?;
            }
        }
        Ok(())
    }

    fn node(&self, node: &Node, functions: &[Function]) -> Result<()> {
        let function = functions.first().map_or(std::ptr::null_mut(), |function| function.0);
        match *node {
            Node::Embed { table, scale, out } => self.embed(table, scale, out, functions),
            Node::Norm { x, norm, out } => {
                let (weight, n) = (self.vector(norm.weight), self.width(x));
                // SAFETY: parameters of `norm`, on rows of the same width.
                unsafe {
                    launch!(function, self.block_per_row(x), self.stream;
                        self.value(x), weight, norm.eps, self.value(out), n as i32)
                }
            }
            Node::AddNorm { into, branch, post, norm } => {
                let of = |norm: Option<NormWeight>| norm.map_or((0, 0.0), |norm| (self.vector(norm.weight), norm.eps));
                let ((post, post_eps), (weight, eps)) = (of(post), of(norm.map(|(norm, _)| norm)));
                let out = norm.map_or(0, |(_, out)| self.value(out));
                // SAFETY: parameters of `add_norm`, on rows of the same width.
                unsafe {
                    launch!(function, self.block_per_row(into), self.stream;
                        self.value(into), self.value(branch), post, post_eps, weight, eps, out, self.width(into) as i32)
                }
            }
            Node::Linear { x, weight, bias, out } => {
                let bias = bias.map_or(0, |bias| self.vector(bias));
                let number = self.model.numbers[out];
                self.linear(x, weight, bias, Out { start: self.value(out), stride: self.width(out), number }, functions)
            }
            Node::Logits { x, weight, softcap } => {
                let out = Out { start: self.model.logits.start(), stride: self.model.logits_stride, number: Number::F32 };
                self.linear(x, weight, 0, out, functions)?;
                let Some(cap) = softcap else { return Ok(()) };
                let n = self.model.vocab;
                // SAFETY: parameters of `softcap`, on the rows of logits just written.
                unsafe {
                    launch!(self.launches.softcap.0, self.geometry(n.div_ceil(256), self.shape.outputs, 256), self.stream;
                        self.model.logits.start(), self.model.logits_stride as i32, n as i32, cap)
                }
            }
            Node::RopeKv { qkv, attention, q_norm, k_norm } => self.rope_kv(qkv, &attention, q_norm, k_norm, function),
            Node::Attention { qkv, attention, out } => self.attention(qkv, &attention, out, functions),
            Node::GatedLinear { x, weight, gate_up, act, out } => self.gated_linear(x, weight, gate_up, act, out, functions),
            Node::Gated { gate_up, act, out } => self.gated(gate_up, act, out, function),
            Node::Gather { x, out } => self.gather(x, self.inputs.at(self.layout.output_rows), out, function),
            Node::Copy { x, out } => self.gather(x, 0, out, function),
        }
    }

    fn embed(&self, table: usize, scale: f32, out: ValueId, functions: &[Function]) -> Result<()> {
        let matrix = &self.model.weights[table];
        for (segment, function) in matrix.segments.iter().zip(functions) {
            // SAFETY: parameters of `embed`; the kernel leaves tokens of other segments alone.
            unsafe {
                launch!(function.0, self.geometry(self.count(out), 1, 256), self.stream;
                    matrix.data(segment), segment.row_bytes as i64, segment.first_row as i32, segment.rows as i32,
                    matrix.cols as i32, self.inputs.at(self.layout.tokens), scale, self.value(out))?;
            }
        }
        Ok(())
    }

    /// `out[r] = weight · x[r] + bias`.
    fn linear(&self, x: ValueId, weight: usize, bias: CUdeviceptr, out: Out, functions: &[Function]) -> Result<()> {
        let (matrix, rows) = (&self.model.weights[weight], self.count(x));
        let mut functions = functions.iter();
        for segment in &matrix.segments {
            let streams = streams(segment.ty, matrix.cols, self.launches.number);
            let product = Product { n: segment.rows, k: matrix.cols, rows, stride: out.stride, out: out.number };
            let mut kernels = functions.by_ref().take(if streams { STREAM_TILES.len() } else { 1 });
            if let Some(cublas) = &self.launches.cublas
                && streams
                && CublasLt::takes(&product)
            {
                kernels.for_each(drop);
                self.large_product(cublas, product, matrix.data(segment), x, segment.first_row, bias, out)?;
                continue;
            }
            let (n, first) = (segment.rows as i32, segment.first_row as i32);
            if streams {
                let tiles = tiles_for(rows);
                let Some(function) = kernels.nth(tiles) else { continue };
                kernels.for_each(drop);
                let geometry = self.geometry(segment.rows.div_ceil(16), rows.div_ceil(8 * STREAM_TILES[tiles]), 256);
                // SAFETY: parameters of `stream_linear`; widths were checked against the weight when the program was lowered.
                unsafe {
                    launch!(function.0, geometry, self.stream;
                        matrix.data(segment), n, matrix.cols as i32, self.value(x), rows as i32, bias, out.start,
                        out.stride as i32, first)?;
                }
                continue;
            }
            let Some(function) = kernels.next() else { continue };
            let geometry = self.geometry(segment.rows.div_ceil(WARPS), rows.div_ceil(LINEAR_ROWS), 32 * WARPS as u32);
            // SAFETY: parameters of `simple_linear`; widths as above.
            unsafe {
                launch!(function.0, geometry, self.stream;
                    matrix.data(segment), segment.row_bytes as i64, n, matrix.cols as i32, self.value(x), rows as i32, bias,
                    out.start, out.stride as i32, first)?;
            }
        }
        Ok(())
    }

    fn gated_linear(
        &self,
        x: ValueId,
        weight: usize,
        gate_up: ValueId,
        act: Activation,
        out: ValueId,
        functions: &[Function],
    ) -> Result<()> {
        let (matrix, rows, n) = (&self.model.weights[weight], self.count(x), self.width(out));
        let (&[gated, ref streams @ ..], [segment]) = (functions, matrix.segments.as_slice()) else { return Ok(()) };
        let product = Product { n: matrix.rows, k: matrix.cols, rows, stride: matrix.rows, out: Number::BF16 };
        if let Some(cublas) = &self.launches.cublas
            && CublasLt::takes(&product)
        {
            let both = Out { start: self.value(gate_up), stride: matrix.rows, number: Number::BF16 };
            self.large_product(cublas, product, matrix.data(segment), x, 0, 0, both)?;
            return self.gated(gate_up, act, out, gated.0);
        }
        let tiles = tiles_for(rows);
        let geometry = self.geometry(n.div_ceil(8), rows.div_ceil(8 * STREAM_TILES[tiles]), 256);
        // SAFETY: parameters of `stream_gated`; widths were checked when the program was lowered.
        unsafe {
            launch!(streams[tiles].0, geometry, self.stream;
                matrix.data(segment), n as i32, matrix.cols as i32, self.value(x), rows as i32, self.value(out),
                number_of(act))
        }
    }

    fn gated(&self, gate_up: ValueId, act: Activation, out: ValueId, function: CUfunction) -> Result<()> {
        let n = self.width(out);
        // SAFETY: parameters of `gated`; gate and up are twice as wide.
        unsafe {
            launch!(function, self.geometry(n.div_ceil(256), self.count(out), 256), self.stream;
                self.value(gate_up), self.value(out), n as i32, number_of(act))
        }
    }

    /// A product of many rows, and the bias that it has no place for. `first`: the weight's first row within its matrix.
    #[allow(clippy::too_many_arguments)]
    fn large_product(
        &self,
        cublas: &CublasLt,
        product: Product,
        weight: CUdeviceptr,
        x: ValueId,
        first: usize,
        bias: CUdeviceptr,
        out: Out,
    ) -> Result<()> {
        let start = out.start + (first * out.number.bytes()) as CUdeviceptr;
        // SAFETY: widths were checked against the weight when the program was lowered.
        unsafe { cublas.run(product, weight, self.value(x), start, self.stream)? };
        if bias == 0 {
            return Ok(());
        }
        let function = self.launches.add_bias[usize::from(out.number == Number::BF16)];
        // SAFETY: parameters of `add_bias`, on the rows just written.
        unsafe {
            launch!(function.0, self.geometry(product.n.div_ceil(256), product.rows, 256), self.stream;
                start, out.stride as i32, product.n as i32, bias + 4 * first as CUdeviceptr)
        }
    }

    fn rope_kv(
        &self,
        qkv: ValueId,
        a: &AttentionLayer,
        q_norm: Option<HeadNorm>,
        k_norm: Option<HeadNorm>,
        function: CUfunction,
    ) -> Result<()> {
        let of = |norm: Option<HeadNorm>| norm.map_or((0, 0.0), |norm| (self.vector(norm.weight.0 as usize), norm.eps));
        let ((q_norm, q_eps), (k_norm, k_eps)) = (of(q_norm), of(k_norm));
        let (rope, pool, rows) = (&self.model.ropes[a.rope.0 as usize], &self.model.pools[a.group], self.rows(RowClass::Tokens));
        let heads = a.heads + 2 * a.kv_heads;
        let geometry = self.geometry(rows.count, heads.div_ceil(WARPS), 32 * WARPS as u32).with_shared(WARPS * a.head_dim * 4);
        // SAFETY: parameters of `rope_kv`; pages were checked against the pool with the batch.
        unsafe {
            launch!(function, geometry, self.stream;
                self.value(qkv), rope.angles.start(), rope.half as i32, q_norm, q_eps, k_norm, k_eps,
                pool.keys(a.layer), pool.values(a.layer), rows.positions, rows.table_of, self.table(a.group),
                self.shape.stride as i32, self.model.page_tokens as i32, a.heads as i32, a.kv_heads as i32, a.head_dim as i32)
        }
    }

    fn attention(&self, qkv: ValueId, a: &AttentionLayer, out: ValueId, functions: &[Function]) -> Result<()> {
        let &[single, ref tile @ ..] = functions else { return Ok(()) };
        let (pool, rows) = (&self.model.pools[a.group], self.rows(self.model.values[out].class));
        let window = a.window.map_or(0, |window| i32::try_from(window).unwrap_or(i32::MAX));
        if let (Some(tile), true) = (tile.first(), self.shape.tiles > 0) {
            // SAFETY: parameters of `tile_attention`; pages were checked against the pool with the batch, tiles are runs of its rows.
            return unsafe {
                launch!(tile.0, self.geometry(self.shape.tiles, a.heads, 128), self.stream;
                    self.value(qkv), self.width(qkv) as i32, self.value(out), pool.keys(a.layer), pool.values(a.layer),
                    self.inputs.at(self.layout.tiles), rows.positions, rows.table_of, self.table(a.group),
                    self.shape.stride as i32, self.model.page_tokens as i32, a.heads as i32, a.kv_heads as i32, window,
                    a.scale, a.softcap.unwrap_or(0.0))
            };
        }
        if streams_attention(a.head_dim, self.launches.number, self.launches.kv) {
            let parts = self.parts(a);
            let mut geometry = self.geometry(rows.count, a.heads, 128);
            geometry.grid[2] = parts as u32;
            let partials = if parts > 1 { self.launches.partials.start() } else { 0 };
            // SAFETY: parameters of `stream_attention` and `merge_attention`; as above. Partials have room for PARTIALS blocks.
            return unsafe {
                launch!(single.0, geometry, self.stream;
                    self.value(qkv), self.width(qkv) as i32, self.value(out), pool.keys(a.layer), pool.values(a.layer),
                    rows.positions, rows.table_of, self.table(a.group), self.shape.stride as i32,
                    self.model.page_tokens as i32, a.heads as i32, a.kv_heads as i32, window, a.scale, a.softcap.unwrap_or(0.0),
                    partials)?;
                if parts == 1 {
                    return Ok(());
                }
                let merge = self.launches.merge[usize::from(self.launches.number == Number::BF16)];
                launch!(merge.0, self.geometry(rows.count, a.heads, a.head_dim as u32), self.stream;
                    partials, parts as i32, rows.positions, self.value(out))
            };
        }
        let geometry = self.geometry(rows.count, a.heads.div_ceil(WARPS), 32 * WARPS as u32);
        // SAFETY: parameters of `simple_attention`; as above.
        unsafe {
            launch!(single.0, geometry, self.stream;
                self.value(qkv), self.width(qkv) as i32, self.value(out), pool.keys(a.layer), pool.values(a.layer),
                rows.positions, rows.table_of, self.table(a.group), self.shape.stride as i32, self.model.page_tokens as i32,
                a.heads as i32, a.kv_heads as i32, a.head_dim as i32, window, a.scale, a.softcap.unwrap_or(0.0))
        }
    }

    /// Blocks that share the positions of a row of a decode step and a head: more of them for long contexts and few rows.
    fn parts(&self, a: &AttentionLayer) -> usize {
        let context = a.window.unwrap_or(usize::MAX).min(self.shape.stride * self.model.page_tokens);
        let blocks = self.shape.rows * a.heads;
        if !self.shape.decode || self.launches.batch_invariant || context <= SHORT_CONTEXT || blocks == 0 {
            return 1;
        }
        (PARTIALS / blocks).clamp(1, context / (SHORT_CONTEXT / 2))
    }

    fn gather(&self, x: ValueId, rows: CUdeviceptr, out: ValueId, function: CUfunction) -> Result<()> {
        let words = self.width(out) * self.model.numbers[out].bytes() / 4;
        // SAFETY: parameters of `gather`; output rows lie within the step's.
        unsafe {
            launch!(function, self.geometry(words.div_ceil(256), self.count(out), 256), self.stream;
                self.value(x), rows, self.value(out), words as i32)
        }
    }

    fn rows(&self, class: RowClass) -> Rows {
        let (layout, at) = (&self.layout, |word| self.inputs.at(word));
        match class {
            RowClass::Tokens => {
                Rows { count: self.shape.rows, positions: at(layout.kv_positions), table_of: at(layout.table_of) }
            }
            RowClass::Outputs => {
                Rows { count: self.shape.outputs, positions: at(layout.output_positions), table_of: at(layout.output_table_of) }
            }
        }
    }

    fn geometry(&self, x: usize, y: usize, block: u32) -> Geometry {
        Geometry { overlaps: self.launches.kernels.overlaps, ..Geometry::new(x, y, block) }
    }

    fn block_per_row(&self, value: ValueId) -> Geometry {
        let block = self.width(value).div_ceil(4).next_multiple_of(32).clamp(32, 1024);
        self.geometry(self.count(value), 1, block as u32)
    }

    fn table(&self, group: usize) -> CUdeviceptr {
        self.inputs.at(self.layout.tables + group * self.layout.table_words)
    }

    fn count(&self, value: ValueId) -> usize {
        match self.model.values[value].class {
            RowClass::Tokens => self.shape.rows,
            RowClass::Outputs => self.shape.outputs,
        }
    }

    fn width(&self, value: ValueId) -> usize {
        self.model.values[value].width
    }

    fn value(&self, value: ValueId) -> CUdeviceptr {
        self.model.arena.at(self.model.offsets[value])
    }

    fn vector(&self, index: usize) -> CUdeviceptr {
        self.model.vectors[index].start()
    }
}
