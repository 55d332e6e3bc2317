import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const ending = '.json'
const temporaryEnding = '.new'

/**
 * `DurableStore` stores JSON values by key in a folder, one file for each key. A value that `set` has stored survives a
 * kill of the link and a power failure. Without a folder, the values are stored in memory only.
 *
 * All values are read into memory when the store is opened, so the store is suitable for thousands of small values.
 */
export class DurableStore<Value> {
  readonly #folder: string | undefined
  readonly #values = new Map<string, Value>()
  /** The writes, one after the other for each key. */
  readonly #writes = new Map<string, Promise<void>>()

  constructor(folder?: string) {
    this.#folder = folder
    if (folder === undefined) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(folder)) {
      if (name.endsWith(temporaryEnding)) rmSync(join(folder, name), { force: true })
      if (!name.endsWith(ending)) continue
      this.#values.set(name.slice(0, -ending.length), JSON.parse(readFileSync(join(folder, name), 'utf8')) as Value)
    }
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  get size(): number {
    return this.#values.size
  }

  /** Stores a value. Resolves when the value is on the disk. Readers see it only then. */
  set(key: string, value: Value): Promise<void> {
    return this.change(key, () => value)
  }

  /** Stores the value that `change` returns for the current value. Changes of one key run one after the other. */
  change(key: string, change: (current: Value | undefined) => Value): Promise<void> {
    return this.#inOrder(key, async (path) => {
      const value = change(this.#values.get(key))
      if (this.#folder !== undefined && path !== undefined) {
        await writeFile(path, JSON.stringify(value))
        await syncFolder(this.#folder)
      }
      this.#values.set(key, value)
    })
  }

  delete(key: string): Promise<void> {
    return this.#inOrder(key, async (path) => {
      if (this.#folder !== undefined && path !== undefined) {
        await rm(path, { force: true })
        await syncFolder(this.#folder)
      }
      this.#values.delete(key)
    })
  }

  async #inOrder(key: string, work: (path: string | undefined) => Promise<void>): Promise<void> {
    if (!/^[\w-][\w.-]{0,199}$/.test(key)) {
      throw new Error(`The key "${key}" may contain only letters, digits, dots, _ and -, and at most 200 of them.`)
    }
    const path = this.#folder === undefined ? undefined : join(this.#folder, `${key}${ending}`)
    const previous = this.#writes.get(key) ?? Promise.resolve()
    const own = previous.then(
      () => work(path),
      () => work(path),
    )
    this.#writes.set(key, own)
    try {
      await own
    } finally {
      if (this.#writes.get(key) === own) this.#writes.delete(key)
    }
  }
}

/** Writes a file atomically: after a kill, the file has either the old or the new content. */
async function writeFile(path: string, content: string): Promise<void> {
  const temporary = `${path}${temporaryEnding}`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  // The error is ignored, because some systems do not support syncing a folder and do not need it.
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}
