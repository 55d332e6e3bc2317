import type { CloudConnection } from '../cloud-connection.ts'
import type { Log } from '../log.ts'
import type { PlatformConnector } from '../platform/platform-connector.ts'
import type { FoundAddresses } from './found-addresses.ts'
import { RemoteAccessFile } from './remote-access-file.ts'
import { RemoteStreams } from './remote-streams.ts'
import { ownMachine, refusalOf, type Target } from './target-rules.ts'
import { TunnelAgent, type TunnelState } from './tunnel-agent.ts'

type Options = {
  /** The path of remote-access.json. */
  file: string
  cloud: CloudConnection
  foundAddresses: FoundAddresses
  /** The ports on which the gateway listens. They are never targets. */
  ports: readonly number[]
  /** Opens the connection of the tunnel. */
  platform: PlatformConnector
  log: Log
  /** The pause while the platform has no remote access. */
  unavailableMs?: number
}

export type RemoteAccessStatus = {
  isEnabled: boolean
  tunnel: TunnelState
  sessions: number
  streams: number
  /** Why remote-access.json is not valid. */
  fault?: string
}

/** `RemoteAccess` connects the local rules, the tunnel to the platform, and the streams to devices. */
export class RemoteAccess {
  readonly #file: RemoteAccessFile
  readonly #streams: RemoteStreams
  readonly #agent: TunnelAgent
  readonly #log: Log

  private constructor(file: RemoteAccessFile, { cloud, foundAddresses, ports, platform, log, unavailableMs }: Options) {
    this.#file = file
    this.#log = log
    this.#streams = new RemoteStreams({
      log,
      refresh: () => file.refresh(),
      check: (target: Target) =>
        refusalOf(target, {
          settings: file.settings,
          isFound: (address) => foundAddresses.has(address),
          own: ownMachine(ports),
        }),
      requestCredential: async (sessionId) => {
        const { data } = await cloud.gatekeeper.requestSessionCredentials({ params: { id: sessionId } })
        return data?.credentials
      },
    })
    this.#agent = new TunnelAgent({
      cloud,
      log,
      streams: this.#streams,
      platform,
      ...(unavailableMs !== undefined && { unavailableMs }),
    })
  }

  /** Opens the local file. If it is not valid, no target is allowed until the file is corrected. */
  static async open(options: Options): Promise<RemoteAccess> {
    const onChange = () => access.#applyFile()
    const access: RemoteAccess = new RemoteAccess(await RemoteAccessFile.open(options.file, onChange), options)
    return access
  }

  get status(): RemoteAccessStatus {
    const { fault, settings } = this.#file
    return {
      isEnabled: settings.isEnabled,
      tunnel: this.#agent.state,
      ...this.#streams.counts,
      ...(fault !== undefined && { fault }),
    }
  }

  /** Opens the tunnel if the file allows it. A second call has no effect. */
  start(): void {
    this.#applyFile()
  }

  async stop(): Promise<void> {
    this.#file[Symbol.dispose]()
    await this.#agent.stop()
  }

  /** Applies the settings, also to open streams. */
  #applyFile(): void {
    const { fault, settings } = this.#file
    if (fault !== undefined)
      this.#log.error({ reason: fault }, 'no remote session starts until remote-access.json is corrected')
    this.#agent.enable(settings.isEnabled)
    this.#streams.recheck()
  }
}
