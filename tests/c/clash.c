/* A library that exports names found inside ours and counts who calls them. */
int clash_calls;

int ggml_init(void) { return ++clash_calls; }
int tokenizers_encode(void) { return ++clash_calls; }
int cublasCreate_v2(void) { return ++clash_calls; }
int llg_new_tokenizer(void) { return ++clash_calls; }
int rust_eh_personality(void) { return ++clash_calls; }
void *__rust_alloc(unsigned long size, unsigned long align)
{
    (void)size, (void)align;
    clash_calls++;
    return 0;
}
