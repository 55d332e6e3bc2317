import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { type StreamMessage, StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import type { Algorithms, ClientChannel, SFTPWrapper } from 'ssh2'
import ssh2 from 'ssh2'
import { Secret } from '../secret.ts'
import { reasonOf, unreachable } from './device-connection.ts'
import { credentialSignIn, type PromptRequest, promptSignIn, type SignIn } from './ssh-sign-in.ts'
import type { StreamInput } from './stream-input.ts'

/**
 * The algorithms that are offered in addition to the defaults of the library, after them. Switches and controllers that
 * are ten years old or more have no others: SHA-1 key exchange, DSA host keys, CBC ciphers, MD5. The host key is stored
 * and compared in all cases. Strict key exchange (against the Terrapin attack) is always offered.
 */
const algorithms: Algorithms = {
  kex: {
    append: ['diffie-hellman-group-exchange-sha1', 'diffie-hellman-group14-sha1', 'diffie-hellman-group1-sha1'],
    prepend: [],
    remove: [],
  },
  serverHostKey: { append: ['ssh-dss'], prepend: [], remove: [] },
  cipher: { append: ['aes256-cbc', 'aes192-cbc', 'aes128-cbc', '3des-cbc'], prepend: [], remove: [] },
  hmac: { append: ['hmac-md5', 'hmac-sha1-96', 'hmac-md5-96'], prepend: [], remove: [] },
  // A small compressed packet of a device could become very large.
  compress: ['none'],
}

const limits = {
  /** The time limits of the key exchange, of the decision about the host key, and of a sign-in with a credential. */
  handshakeMs: 20_000,
  decisionMs: 20_000,
  credentialMs: 30_000,
  /** The time in which the user answers each prompt, and in which the device reacts to it. */
  promptMs: 120_000,
  /** The time in which the device opens a terminal or the file transfer. */
  channelMs: 20_000,
  /** A device that does not answer this number of checks has lost the connection. */
  keepAliveMs: 5_000,
  keepAlives: 3,
  /** The maximum characters of all banners of a connection. A device can send any number of banners. */
  bannerCharacters: 4_096,
} as const

/** The text that replaces a message of the device if the message contains a secret. */
const redactedText = 'The message of the device is omitted, because the message contains the credentials'

type SshConnectionOptions = {
  socket: Socket
  /** The stream that opens the connection. It carries the messages for the host key and the sign-in. */
  stream: TunnelStream
  input: StreamInput
  isTerminal: boolean
  /** Returns the credential of the session, or undefined if the user selected none. */
  requestCredential: () => Promise<string | undefined>
}

/**
 * `SshConnection` is the connection of one session to a device. The terminals and the file transfers of the session share
 * it. States: key exchange, decision about the host key, sign-in, ready, closed.
 */
export class SshConnection {
  readonly #client = new ssh2.Client()
  readonly #options: SshConnectionOptions
  readonly #secrets: Secret[] = []
  readonly #closed = new AbortController()
  /** Resolves with the user when the device accepted the sign-in. Rejects with a `StreamRefusal`. */
  readonly signedIn: Promise<string>
  #failure: StreamRefusal | undefined
  #hostKey: string | undefined
  #phaseTimer: NodeJS.Timeout | undefined
  #sftp: Promise<SFTPWrapper> | undefined
  #isSignedIn = false
  #hasPrompts = false
  #shownCharacters = 0

  constructor(options: SshConnectionOptions) {
    this.#options = options
    const { socket, stream } = options
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    this.signedIn = promise
    promise.catch(() => undefined)
    this.#closed.signal.addEventListener('abort', () => reject(this.failure), { once: true })
    const onStreamClose = () => this.close('The stream that opened the connection was closed')
    stream.once('close', onStreamClose)
    let signIn: SignIn | undefined
    this.#client
      .on('error', (error) => this.#fail(this.#refusalOf(error)))
      .on('close', () => this.#fail(unreachable('The device closed the ssh connection.')))
      .on('banner', (text) => this.#showBanner(text))
      .on('ready', () => {
        clearTimeout(this.#phaseTimer)
        stream.off('close', onStreamClose)
        this.#isSignedIn = true
        resolve(signIn?.user() ?? '')
      })
    this.#limitPhase(limits.handshakeMs, 'the key exchange')
    try {
      this.#client.connect({
        sock: socket,
        // The library requires a user here, but sends only that of the authentication method.
        username: 'unused',
        algorithms,
        readyTimeout: 0,
        keepaliveInterval: limits.keepAliveMs,
        keepaliveCountMax: limits.keepAlives,
        hostVerifier: (key: Buffer, verify: (isAccepted: boolean) => void) => {
          this.#isHostKeyAccepted(key).then(verify, (error: unknown) => {
            this.#fail(this.#refusalOf(error))
            verify(false)
          })
        },
        authHandler: (methods, _isPartial, next) => {
          const nextMethod = async () => {
            signIn ??= await this.#signIn()
            return signIn.next(methods)
          }
          nextMethod().then(next as (method: unknown) => void, (error: unknown) => this.#fail(this.#refusalOf(error)))
        },
      })
    } catch (error) {
      this.#fail(this.#refusalOf(error))
    }
  }

  /** Returns whether the sign-in waits for answers of the user. */
  get isPrompting(): boolean {
    return this.#hasPrompts && !this.#isSignedIn
  }

  /** Aborts when the connection is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /** Returns why the connection was closed. */
  get failure(): StreamRefusal {
    return this.#failure ?? unreachable('The ssh connection was closed.')
  }

  /** Opens a terminal. */
  async shell({ columns, rows }: { columns: number; rows: number }): Promise<ClientChannel> {
    const window = { term: 'xterm-256color', cols: columns, rows, width: 0, height: 0 }
    try {
      return await this.#opened<ClientChannel>((done) => this.#client.shell(window, done))
    } catch (error) {
      throw this.#errorOf(error, { code: 'no_shell', what: 'The device did not open a terminal' })
    }
  }

  /** Returns the file transfer of the connection. */
  async sftp(): Promise<SFTPWrapper> {
    this.#sftp ??= this.#opened<SFTPWrapper>((done) => this.#client.sftp(done)).then((sftp) => {
      sftp.on('close', () => {
        this.#sftp = undefined
      })
      sftp.on('error', () => undefined)
      return sftp
    })
    try {
      return await this.#sftp
    } catch (error) {
      this.#sftp = undefined
      throw this.#errorOf(error, { code: 'file_error', what: 'The device did not open a file transfer (SFTP)' })
    }
  }

  /**
   * Returns a writable that writes to a channel, and waits while the socket has bytes to send. The library itself waits only
   * for the window of the device, which can have any size.
   */
  sinkOf(channel: ClientChannel): Writable {
    const { socket } = this.#options
    return new Writable({
      write: (bytes: Buffer, _encoding, done) => {
        channel.write(bytes, () => {
          if (!socket.writableNeedDrain) return done()
          once(socket, 'drain', { signal: this.closed }).then(
            () => done(),
            () => done(),
          )
        })
      },
      final: (done) => {
        channel.end()
        done()
      },
    })
  }

  /** Returns a text of the device without control characters, or a replacement if it contains a secret. */
  cleanText(text: string): string {
    if (this.#secrets.some((secret) => secret.isIn(text))) return redactedText
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters of a device could change a terminal
    return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 500)
  }

  close(reason: string): void {
    this.#fail(new StreamRefusal({ code: 'session_ended', detail: `${reason}.` }))
  }

  #fail(failure: StreamRefusal): void {
    if (this.#failure !== undefined) return
    this.#failure = failure
    clearTimeout(this.#phaseTimer)
    this.#closed.abort()
    this.#client.end()
    this.#options.socket.destroySoon()
    for (const secret of this.#secrets.splice(0)) secret[Symbol.dispose]()
  }

  #limitPhase(ms: number, phase: string): void {
    clearTimeout(this.#phaseTimer)
    this.#phaseTimer = setTimeout(
      () => this.#fail(unreachable(`The device did not complete ${phase} within ${ms / 1_000} seconds.`)),
      ms,
    )
  }

  /** Sends the host key to the platform and waits for its decision. A second key exchange must have the same key. */
  async #isHostKeyAccepted(key: Buffer): Promise<boolean> {
    const fingerprint = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
    if (this.#hostKey !== undefined) return fingerprint === this.#hostKey
    const algorithm = key.subarray(4, 4 + key.readUInt32BE()).toString()
    const { stream, input } = this.#options
    this.#limitPhase(limits.decisionMs, 'the check of its host key')
    const decision = input.next('host-key-decision')
    stream.sendMessage({ type: 'host-key', algorithm, fingerprint })
    const { isAccepted } = await decision
    if (isAccepted !== true) {
      const detail = `The host key of the device differs from the stored key. The device now has ${algorithm} ${fingerprint}. The device was replaced or reset, or another machine answers at its address.`
      throw new StreamRefusal({ code: 'host_key_changed', detail })
    }
    this.#hostKey = fingerprint
    return true
  }

  async #signIn(): Promise<SignIn> {
    this.#limitPhase(limits.credentialMs, 'the sign-in')
    const text = await this.#options.requestCredential()
    if (this.closed.aborted) throw this.failure
    if (text !== undefined) return credentialSignIn(this.#store(text))
    if (this.#options.isTerminal) {
      this.#hasPrompts = true
      return promptSignIn((request) => this.#ask(request))
    }
    const detail = 'The session has no credential. Open a terminal and sign in, then use the files.'
    throw new StreamRefusal({ code: 'not_signed_in', detail })
  }

  async #ask({ title, instructions, prompts }: PromptRequest): Promise<string[]> {
    const { stream, input } = this.#options
    this.#limitPhase(limits.promptMs, 'the sign-in')
    const answer = input.next('answers')
    stream.sendMessage({
      type: 'prompt',
      title: this.cleanText(title),
      instructions: this.cleanText(instructions),
      prompts: prompts.map(({ text, isSecret }) => ({ text: this.cleanText(text), isSecret })),
    })
    const texts = answersIn(await answer, prompts.length)
    for (const [index, text] of texts.entries()) if (prompts[index]?.isSecret) this.#store(text)
    this.#limitPhase(limits.promptMs, 'the sign-in')
    return texts
  }

  #store(text: string): Secret {
    const secret = new Secret(text)
    this.#secrets.push(secret)
    return secret
  }

  #showBanner(text: string): void {
    const { stream, isTerminal } = this.#options
    const shown = text.slice(0, limits.bannerCharacters - this.#shownCharacters)
    this.#shownCharacters += shown.length
    if (isTerminal && !stream.destroyed && shown !== '') stream.write(shown.replace(/\r?\n/g, '\r\n'))
  }

  #refusalOf(error: unknown): StreamRefusal {
    if (error instanceof StreamRefusal) return error
    const { level } = error as { level?: string }
    const reason = this.cleanText(reasonOf(error))
    const isSignIn = this.#hostKey !== undefined && !this.#isSignedIn
    if (level === 'client-authentication' || (isSignIn && level === undefined))
      return new StreamRefusal({ code: 'authentication_failed', detail: `The device ended the sign-in: ${reason}.` })
    return unreachable(`The ssh connection to the device failed: ${reason}.`)
  }

  #errorOf(error: unknown, { code, what }: { code: string; what: string }): StreamRefusal {
    if (this.closed.aborted) return this.failure
    return new StreamRefusal({ code, detail: `${what}: ${this.cleanText((error as Error).message)}.` })
  }

  /** Opens a channel within the time limit. */
  #opened<Opened>(open: (done: (error: Error | undefined, opened: Opened) => void) => unknown): Promise<Opened> {
    const { promise, resolve, reject } = Promise.withResolvers<Opened>()
    const timer = setTimeout(
      () => reject(new Error(`no answer within ${limits.channelMs / 1_000} seconds`)),
      limits.channelMs,
    )
    const onClose = () => reject(this.failure)
    this.closed.addEventListener('abort', onClose, { once: true })
    try {
      open((error, opened) => (error ? reject(error) : resolve(opened)))
    } catch (error) {
      reject(error)
    }
    return promise.finally(() => {
      clearTimeout(timer)
      this.closed.removeEventListener('abort', onClose)
    })
  }
}

/** Returns the answers of the user: exactly one for each prompt. */
function answersIn({ answers }: StreamMessage, count: number): string[] {
  const texts = Array.isArray(answers) ? answers : []
  return Array.from({ length: count }, (_, index) => (typeof texts[index] === 'string' ? texts[index] : ''))
}
