import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'

/** Somebody at a platform: who, and what proves it. */
export type Profile = {
  url: string
  /** As it was shown at signing in. */
  name: string
  tenant: string
  accessToken: string
  /** When the access token ends, in milliseconds since 1970. */
  expires: number
} & ({ kind: 'person'; refreshToken: string } | { kind: 'program'; clientId: string; clientSecret: string })

/** Somebody who was killed while holding the lock holds it no longer than this. */
const lockMs = 20_000
const nameRule = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The profiles of a user: a file each, which nobody else can read. */
export class Profiles {
  readonly #folder: string

  constructor({ configFolder, userFolder }: { configFolder: string | undefined; userFolder: string }) {
    this.#folder = join(configFolder ?? join(userFolder, '.config'), 'millwright')
  }

  async list(): Promise<{ name: string; profile: Profile }[]> {
    const files = await readdir(join(this.#folder, 'profiles')).catch(() => [])
    const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
    const found = await Promise.all(
      names.toSorted().map(async (name) => ({ name, profile: await this.find(name).catch(() => undefined) })),
    )
    return found.flatMap(({ name, profile }) => (profile === undefined ? [] : [{ name, profile }]))
  }

  async find(name: string): Promise<Profile | undefined> {
    const text = await readFile(this.#file(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw new CommandError(`The profile ${name} cannot be read (${error.code}): check ${this.#file(name)}.`)
    })
    if (text === undefined) return undefined
    try {
      return JSON.parse(text)
    } catch {
      throw new CommandError(`The profile ${name} is damaged.`, {
        exitCode: exitCodes.denied,
        next: `sign in again: millwright login --profile ${name}`,
      })
    }
  }

  async put(name: string, profile: Profile): Promise<void> {
    await this.#write(this.#file(name), JSON.stringify(profile, undefined, 2))
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true })
    if ((await this.current()) === name) await rm(join(this.#folder, 'current'), { force: true })
  }

  /** The one that is meant when none is named. */
  async current(): Promise<string | undefined> {
    const text = await readFile(join(this.#folder, 'current'), 'utf8').catch(() => '')
    return text.trim() === '' ? undefined : text.trim()
  }

  async use(name: string): Promise<void> {
    await this.#write(join(this.#folder, 'current'), name)
  }

  /**
   * One process at a time: a refresh token is good once, and two that used the same one would both be signed out.
   */
  async alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const lock = `${this.#file(name)}.lock`
    await this.#ensureFolder()
    while (!(await taken(lock))) {
      await forgetStale(lock)
      await delay(50)
    }
    try {
      return await work()
    } finally {
      await rm(lock, { force: true })
    }
  }

  #file(name: string): string {
    if (!nameRule.test(name))
      throw usageError(`"${name}" cannot be the name of a profile: letters, digits, . _ - only.`)
    return join(this.#folder, 'profiles', `${name}.json`)
  }

  async #ensureFolder(): Promise<void> {
    await mkdir(join(this.#folder, 'profiles'), { recursive: true, mode: 0o700 })
  }

  async #write(file: string, text: string): Promise<void> {
    const draft = `${file}.${randomBytes(4).toString('hex')}`
    try {
      await this.#ensureFolder()
      await writeFile(draft, `${text}\n`, { mode: 0o600, flag: 'wx' })
      await chmod(draft, 0o600)
      await rename(draft, file)
    } catch (error) {
      await rm(draft, { force: true })
      throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`, {
        next: 'check the folder, or set XDG_CONFIG_HOME to another one',
      })
    }
  }
}

async function taken(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function forgetStale(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > lockMs) await rm(lock, { force: true })
}
