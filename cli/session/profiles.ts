import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, exitCodes, usageError } from '../output/error-report.ts'

/** `Profile` is a signed-in user (`person`) or service account (`program`) of a platform, with its tokens. */
export type Profile = {
  url: string
  /** The name of the user or service account. */
  name: string
  tenant: string
  /** The authority of the certificate of the platform in PEM format, if it is a private one. */
  authority?: string
  accessToken: string
  /** The time when the access token expires, in milliseconds since 1970. */
  expires: number
} & (Person | { kind: 'program'; clientId: string; clientSecret: string })

type Person = {
  kind: 'person'
  refreshToken: string
  /** The time from which commands renew the tokens, before they expire. A renewal counts as a use of the session. */
  renewAt?: number
}

/** The age at which a lock is stale, for example because its process was killed. */
const lockMs = 20_000
const nameRule = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * `Profiles` stores the profiles of the user who runs the command. Each profile is one file that only this user can
 * read.
 */
export class Profiles {
  readonly #folder: string

  constructor({ configFolder, userFolder }: { configFolder: string | undefined; userFolder: string }) {
    this.#folder = join(configFolder ?? join(userFolder, '.config'), 'millwright')
  }

  async list(): Promise<{ name: string; profile: Profile }[]> {
    const files = await readdir(join(this.#folder, 'profiles')).catch(() => [])
    const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length))
    const profiles = await Promise.all(
      names.toSorted().map(async (name) => ({ name, profile: await this.find(name).catch(() => undefined) })),
    )
    return profiles.flatMap(({ name, profile }) => (profile === undefined ? [] : [{ name, profile }]))
  }

  async find(name: string): Promise<Profile | undefined> {
    const text = await readFile(this.#file(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw new CommandError(`The profile ${name} cannot be read (${error.code}). Check ${this.#file(name)}.`)
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

  /** Returns the name of the profile that is used when a command names no profile. */
  async current(): Promise<string | undefined> {
    const text = await readFile(join(this.#folder, 'current'), 'utf8').catch(() => '')
    return text.trim() === '' ? undefined : text.trim()
  }

  async use(name: string): Promise<void> {
    await this.#write(join(this.#folder, 'current'), name)
  }

  /**
   * Runs `work` in one process at a time. Renewals need this lock, because a refresh token can be used only once, and a
   * second use ends the session.
   */
  async withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const lock = `${this.#file(name)}.lock`
    await this.#ensureFolder()
    while (!(await acquireLock(lock))) {
      await removeStaleLock(lock)
      await delay(50)
    }
    try {
      return await work()
    } finally {
      await rm(lock, { force: true })
    }
  }

  #file(name: string): string {
    if (!nameRule.test(name)) throw usageError(`"${name}" is not a valid profile name. Allowed: letters, digits, . _ -`)
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

async function acquireLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function removeStaleLock(lock: string): Promise<void> {
  const file = await stat(lock).catch(() => undefined)
  if (file !== undefined && Date.now() - file.mtimeMs > lockMs) await rm(lock, { force: true })
}
