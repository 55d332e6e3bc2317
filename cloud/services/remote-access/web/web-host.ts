import { Problem } from '@millwright/api/problem.ts'

/** The settings that decide about the host names of web sessions. */
export type WebHostSettings = {
  /** The origin of the platform. Its scheme and its port are those of the web sessions. */
  readonly baseUrl: string
  /** The wildcard host, such as `*.remote.example.com`. Undefined if web sessions are off. */
  readonly remoteAccessHost: string | undefined
}

const sessionLabel = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const hostHeader = /^([a-z0-9.-]+)(?::\d{1,5})?$/

/**
 * `WebHost` maps sessions to host names below the wildcard host. Each session has its own host name, so browsers isolate
 * the cookies, the storage and the service workers of each session.
 */
export class WebHost {
  readonly #settings: WebHostSettings

  constructor(settings: WebHostSettings) {
    this.#settings = settings
  }

  get isOn(): boolean {
    return this.#settings.remoteAccessHost !== undefined
  }

  get isSecure(): boolean {
    return this.#scheme === 'https:'
  }

  /**
   * Returns true for every name below the wildcard host, also for names that are not valid. The API and the console are
   * never served on these names.
   */
  owns(hostname: string): boolean {
    const suffix = this.#suffix
    return suffix !== undefined && withoutDots(hostname.toLowerCase()).endsWith(suffix)
  }

  /** Returns the session of a header `Host`. The header must be the exact name of a session, with or without a port. */
  sessionOf(host: string | undefined): string | undefined {
    const suffix = this.#suffix
    const [, name] = hostHeader.exec(host?.toLowerCase() ?? '') ?? []
    if (suffix === undefined || name === undefined || !name.endsWith(suffix)) return undefined
    const label = name.slice(0, -suffix.length)
    return sessionLabel.test(label) ? label : undefined
  }

  /** Returns the origin under which a browser sent a request to the host. */
  originOf(host: string): string {
    return `${this.#scheme}//${withoutDefaultPort(host.toLowerCase(), this.#scheme)}`
  }

  /** Returns the origin of a session. Throws `web_access_off` if there is no wildcard host. */
  sessionOrigin(sessionId: string): string {
    this.requireOn()
    const { port } = new URL(this.#settings.baseUrl)
    return `${this.#scheme}//${sessionId}${this.#suffix}${port === '' ? '' : `:${port}`}`
  }

  /** Returns the URL of the web page of a device. Throws `web_access_off` if there is no wildcard host. */
  urlOf(sessionId: string): string {
    return `${this.sessionOrigin(sessionId)}/`
  }

  requireOn(): void {
    if (this.isOn) return
    throw new Problem(
      'web_access_off',
      'Web sessions need a wildcard host. Create a DNS record such as *.remote.example.com for the platform and a TLS ' +
        'certificate for this wildcard. Configure the reverse proxy to pass the header Host unchanged. Then set ' +
        'MILLWRIGHT_REMOTE_ACCESS_HOST=*.remote.example.com and restart the platform',
    )
  }

  get #scheme(): 'http:' | 'https:' {
    return this.#settings.baseUrl.startsWith('https:') ? 'https:' : 'http:'
  }

  get #suffix(): string | undefined {
    return this.#settings.remoteAccessHost?.slice(1)
  }
}

function withoutDots(hostname: string): string {
  return hostname.replace(/(?<!\.)\.+$/, '')
}

function withoutDefaultPort(host: string, scheme: 'http:' | 'https:'): string {
  return host.replace(scheme === 'https:' ? /:443$/ : /:80$/, '')
}
