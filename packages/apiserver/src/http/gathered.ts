const EMPTY = Buffer.alloc(0);

/**
 * Bytes that come in pieces of any size, in one buffer that at least doubles when it must grow: a client that sends byte by byte costs
 * neither an object per byte nor a copy of all for each.
 */
export class Gathered {
  #buffer: Buffer = EMPTY;
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Buffer): void {
    if (this.length === 0) {
      this.#hold(chunk, chunk.length);
      return;
    }
    const length = this.length + chunk.length;
    if (this.#end + chunk.length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * this.length, length));
      this.#hold(grown, this.#buffer.copy(grown, 0, this.#start, this.#end));
    }
    this.#end += chunk.copy(this.#buffer, this.#end);
  }

  /** The first bytes, or fewer where there are not as many. */
  peek(bytes: number): Buffer {
    return this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + bytes));
  }

  /** Takes them away. They stay as they are: what comes later lies behind them. */
  take(bytes: number): Buffer {
    const taken = this.peek(bytes);
    this.#start += taken.length;
    return taken;
  }

  #hold(buffer: Buffer, length: number): void {
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = length;
  }
}
