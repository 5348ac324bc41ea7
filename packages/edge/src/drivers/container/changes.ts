export async function* changes(_p: { upper: string; layers: string[] }): AsyncGenerator<unknown[]> {}
