import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { v7 } from 'uuid'
import type { RawAnswer, RequestTarget, TestHub } from '../../../platform/testing/hub.ts'
import { authorizePath, Browser, locationOf, person, proofKey, requestToken, rightPassword } from '../testing.ts'
import { insertPasskey, putChallenge } from './factor-store.ts'
import { createChallenge } from './passkeys.ts'

/** Returns the code of an authenticator app, `steps` time steps from now. */
export function codeOf(secret: string, steps = 0): string {
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: Date.now() + steps * 30_000 })
}

/** Returns a code that is wrong now and in the next minutes. */
export function wrongCodeFor(secret: string): string {
  const valid = [-2, -1, 0, 1, 2, 3].map((steps) => codeOf(secret, steps))
  return (
    ['000000', '111111', '222222', '333333', '444444', '555555', '666666'].find((code) => !valid.includes(code)) ?? ''
  )
}

/** Creates a user with an authenticator app. `self` is the user with a token of a recent sign-in. */
export async function personWithApp(hub: TestHub, name: string, role = 'viewer') {
  const user = await person(hub, name, role)
  const self = hub.withToken(await hub.tokenFor(user.id, { roles: [role] }), user.id)
  const { data } = await self.identity.startTotp({})
  const { data: confirmed } = await self.identity.confirmTotp({ body: { data: { code: codeOf(data.secret, -1) } } })
  return { ...user, self, secret: data.secret, recoveryCodes: confirmed.recoveryCodes }
}

/** Creates rows in all tables of second factors. The base URL of most hubs allows no passkeys, so their rows are stored directly. */
export async function useFactors(hub: TestHub): Promise<void> {
  const { id: principalId, signInName } = await personWithApp(hub, 'robin')
  await new TwoStepSignIn(hub).password(signInName)
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    const key = { credentialId: randomBytes(32), publicKey: randomBytes(77), signCount: 0, transports: ['usb'] }
    await insertPasskey(tx, { ...key, id: v7(), principalId, name: 'Key', now: new Date().toISOString() })
    await putChallenge(tx, { principalId, purpose: 'step-up', ...createChallenge(Date.now()) })
  })
}

/** The parts of a page of the second step that tests read. */
export function readStep({ text }: RawAnswer) {
  const attribute = (pattern: RegExp) => unescaped(pattern.exec(text)?.[1] ?? '')
  const options = attribute(/data-options="([^"]*)"/)
  return {
    pending: attribute(/name="pending" value="([^"]*)"/),
    secret: attribute(/<code id="secret">([^<]*)</).replaceAll(' ', ''),
    options: options === '' ? undefined : (JSON.parse(options) as PasskeyOptions),
    recoveryCodes: [...text.matchAll(/<li><code>([^<]*)</g)].map(([, code = '']) => code),
    error: attribute(/id="error" role="alert">([^<]*)</),
  }
}

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

/** `TwoStepSignIn` is a sign-in in one browser, from the password to the tokens. */
export class TwoStepSignIn {
  readonly browser: Browser
  readonly #hub: RequestTarget
  readonly #proof = proofKey()

  constructor(hub: RequestTarget, browser = new Browser(hub)) {
    this.#hub = hub
    this.browser = browser
  }

  /** Opens the page and submits the password. */
  password(signInName: string, { from }: { from?: string } = {}): Promise<RawAnswer> {
    const path = authorizePath(this.#hub, { code_challenge: this.#proof.challenge, prompt: 'login' })
    return this.browser.signIn(path, {
      name: signInName,
      password: rightPassword,
      ...(from === undefined ? {} : { from }),
    })
  }

  /** Submits the form of a page with other values. */
  async submit(page: RawAnswer, form: { code?: string; passkey?: object; step?: string }): Promise<RawAnswer> {
    const { passkey, ...rest } = form
    const origin = new URL(this.#hub.context.settings.baseUrl).origin
    const fields = {
      pending: readStep(page).pending,
      ...rest,
      ...(passkey ? { passkey: JSON.stringify(passkey) } : {}),
    }
    return this.browser.post('/oauth/second-factor', fields, { origin })
  }

  /** Exchanges the code of the redirect for tokens. */
  async tokens(redirect: RawAnswer) {
    const { body } = await requestToken(this.#hub, {
      grant_type: 'authorization_code',
      client_id: 'console',
      redirect_uri: `${this.#hub.context.settings.baseUrl}/auth/callback`,
      code: locationOf(redirect).searchParams.get('code') ?? '',
      code_verifier: this.#proof.verifier,
    })
    return { accessToken: body.access_token ?? '', refreshToken: body.refresh_token ?? '' }
  }
}

export type PasskeyOptions = {
  challenge: string
  rp?: { id: string }
  rpId?: string
  user?: { id: string }
  allowCredentials?: { id: string }[]
  excludeCredentials?: { id: string }[]
}

type CeremonyOverrides = {
  credentialId?: Buffer
  origin?: string
  rpId?: string
  challenge?: string
  crossOrigin?: boolean
  signCount?: number
}

/** `SoftwareAuthenticator` creates and uses passkeys (ES256) like a browser at one origin. */
export class SoftwareAuthenticator {
  readonly #origin: string
  readonly #keys = new Map<string, { privateKey: KeyObject; signCount: number }>()

  constructor(origin: string) {
    this.#origin = origin
  }

  create(options: PasskeyOptions, overrides: CeremonyOverrides = {}) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { credentialId = randomBytes(32) } = overrides
    const id = credentialId.toString('base64url')
    this.#keys.set(id, { privateKey, signCount: 0 })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const coordinate = (text: string) => Buffer.concat([Buffer.of(0x58, 32), Buffer.from(text, 'base64url')])
    // The public key in CBOR: key type EC2, algorithm ES256, curve P-256.
    const key = Buffer.concat([
      Buffer.of(0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21),
      coordinate(x),
      Buffer.of(0x22),
      coordinate(y),
    ])
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, credentialId.length), credentialId, key])
    const authData = Buffer.concat([
      authenticatorData({ rpId: overrides.rpId ?? options.rp?.id ?? '', flags: 0x45, signCount: 0 }),
      attested,
    ])
    const attestationObject = Buffer.concat([
      Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
      Buffer.of(0x59, authData.length >> 8, authData.length & 0xff),
      authData,
    ])
    const clientDataJSON = this.#clientData('webauthn.create', options, overrides).toString('base64url')
    const response = { clientDataJSON, attestationObject: attestationObject.toString('base64url'), transports: ['usb'] }
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  use(options: PasskeyOptions, overrides: CeremonyOverrides & { id?: string } = {}) {
    const id = overrides.id ?? options.allowCredentials?.map(({ id }) => id).find((id) => this.#keys.has(id)) ?? ''
    const key = this.#keys.get(id)
    if (key === undefined) throw new TypeError('The authenticator has no passkey for these options')
    key.signCount = overrides.signCount ?? key.signCount + 1
    const rpId = overrides.rpId ?? options.rpId ?? ''
    const authData = authenticatorData({ rpId, flags: 0x05, signCount: key.signCount })
    const clientData = this.#clientData('webauthn.get', options, overrides)
    const signed = Buffer.concat([authData, createHash('sha256').update(clientData).digest()])
    const response = {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: sign('sha256', signed, key.privateKey).toString('base64url'),
    }
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response }
  }

  /** Returns an authenticator with copies of all keys, at another origin or on another device. */
  copy(origin = this.#origin): SoftwareAuthenticator {
    const copy = new SoftwareAuthenticator(origin)
    for (const [id, { privateKey, signCount }] of this.#keys) {
      const exported = privateKey.export({ format: 'der', type: 'pkcs8' })
      copy.#keys.set(id, { privateKey: createPrivateKey({ key: exported, format: 'der', type: 'pkcs8' }), signCount })
    }
    return copy
  }

  #clientData(type: string, options: PasskeyOptions, overrides: CeremonyOverrides): Buffer {
    const { origin = this.#origin, challenge = options.challenge, crossOrigin = false } = overrides
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin }))
  }
}

/** The flags are: user present (0x01), user verified (0x04), attested credential data (0x40). */
function authenticatorData({ rpId, flags, signCount }: { rpId: string; flags: number; signCount: number }): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(signCount)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.of(flags), counter])
}
