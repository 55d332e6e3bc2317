import { pause } from '@millwright/api/back-off.ts'
import Value from 'typebox/value'
import { readIfExists, writeDurably } from '../durable-file.ts'
import { SetupError } from '../setup-error.ts'
import { defaultRemoteAccess, RemoteAccessSettings } from './remote-access-settings.ts'
import { isNetwork } from './target-rules.ts'

/** The name of the file in the home of the gateway. */
export const remoteAccessFileName = 'remote-access.json'

/**
 * Reads the settings of remote access. Fields that the file does not contain have their default. Throws a `SetupError`
 * that names the invalid field. An invalid file allows no target.
 */
export async function readRemoteAccess(file: string): Promise<RemoteAccessSettings> {
  const text = await readIfExists(file)
  return text === undefined ? defaultRemoteAccess : parseRemoteAccess(text, file)
}

export function parseRemoteAccess(text: string, file: string): RemoteAccessSettings {
  const fault = (what: string) => new SetupError(`${file} is not valid: ${what}`)
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch (error) {
    throw fault(`it is not JSON (${(error as Error).message}).`)
  }
  const part = isObject(given) && Object.keys(given).join() === 'remoteAccess' ? given.remoteAccess : undefined
  if (!isObject(part)) throw fault('it must be a JSON object with the one field "remoteAccess", which is an object.')
  const settings = { ...defaultRemoteAccess, ...part }
  const [error] = Value.Errors(RemoteAccessSettings, settings)
  if (error !== undefined) throw fault(`/remoteAccess${error.instancePath} ${error.message}.`)
  const wrong = settings.allow?.find(({ network }) => !isNetwork(network))
  if (wrong !== undefined)
    throw fault(`"${wrong.network}" in allow is not a network such as 10.0.0.0/24, 10.0.0.1-10.0.0.9 or fd00::/8.`)
  return settings
}

/** Writes the settings. A running gateway uses them within about one second, also for open connections. */
export async function writeRemoteAccess(file: string, settings: RemoteAccessSettings): Promise<void> {
  const text = `${JSON.stringify({ remoteAccess: settings }, null, 2)}\n`
  parseRemoteAccess(text, file)
  await writeDurably(file, text)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The interval in which the file is checked, and the time in which another program completes a file that it writes. */
const timing = { checkEveryMs: 500, completeMs: 250 } as const

/** The settings that apply while the file is not valid: no target is allowed. */
const nothingAllowed: RemoteAccessSettings = { isEnabled: true, allow: [], loopback: false }

type RemoteAccessState = { settings: RemoteAccessSettings; fault?: string }

/** `RemoteAccessFile` contains the current settings of the file, and calls a listener when they change. */
export class RemoteAccessFile implements Disposable {
  readonly #file: string
  readonly #onChange: (state: RemoteAccessState) => void
  #state: RemoteAccessState
  /** The reads of the file, one after the other. */
  #reading: Promise<unknown> = Promise.resolve()
  /** Each check reads the file. A comparison of times would miss a change that is as old as the first check. */
  readonly #timer = setInterval(() => void this.#check(), timing.checkEveryMs).unref()
  #isChecking = false

  private constructor(file: string, state: RemoteAccessState, onChange: (state: RemoteAccessState) => void) {
    this.#file = file
    this.#state = state
    this.#onChange = onChange
  }

  static async open(file: string, onChange: (state: RemoteAccessState) => void): Promise<RemoteAccessFile> {
    return new RemoteAccessFile(file, await stateOf(file), onChange)
  }

  get settings(): RemoteAccessSettings {
    return this.#state.settings
  }

  /** Returns why the file is not valid. */
  get fault(): string | undefined {
    return this.#state.fault
  }

  /**
   * Reads the file again and returns its settings. With `isCompleted: false`, an invalid file is read a second time,
   * because another program can be writing it.
   */
  refresh({ isCompleted = true } = {}): Promise<RemoteAccessSettings> {
    const result = this.#reading.then(async () => {
      let state = await stateOf(this.#file)
      if (state.fault !== undefined && !isCompleted) {
        await pause(timing.completeMs)
        state = await stateOf(this.#file)
      }
      if (JSON.stringify(state) !== JSON.stringify(this.#state)) {
        this.#state = state
        this.#onChange(state)
      }
      return state.settings
    })
    this.#reading = result.catch(() => undefined)
    return result
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    await this.refresh({ isCompleted: false })
    this.#isChecking = false
  }
}

async function stateOf(file: string): Promise<RemoteAccessState> {
  try {
    return { settings: await readRemoteAccess(file) }
  } catch (error) {
    return { settings: nothingAllowed, fault: (error as Error).message }
  }
}
