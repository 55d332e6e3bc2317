import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import type { AnyAuthMethod, Prompt } from 'ssh2'
import ssh2 from 'ssh2'
import type { Secret } from '../secret.ts'

/**
 * This file contains the two ways in which the gateway signs in to a device: with the credential of the session, or with
 * the answers of the user to prompts. Each way returns the next method to try, after the device named its methods.
 */

export const signInLimits = {
  /** The maximum number of attempts with answers of the user. Many devices lock an account after a few attempts. */
  attempts: 3,
  /** The maximum number of rounds of prompts in one attempt, of prompts in one round, and of characters in a text. */
  rounds: 8,
  prompts: 8,
  characters: 1_000,
} as const

/** `SignIn` returns the next authentication method. `methods` are those that the device accepts, null at the start. */
export type SignIn = {
  user: () => string
  next: (methods: readonly string[] | null) => Promise<AnyAuthMethod>
}

export type PromptRequest = {
  title: string
  instructions: string
  prompts: { text: string; isSecret: boolean }[]
}

type CredentialFields = { username: string; password?: string; privateKey?: string; passphrase?: string }

/** Returns the sign-in with the credential of a session. Throws if the credential cannot be used for ssh. */
export function credentialSignIn(secret: Secret): SignIn {
  const { username, password, privateKey, passphrase } = fieldsOf(secret)
  const key = privateKey === undefined ? undefined : ssh2.utils.parseKey(privateKey, passphrase)
  if (key instanceof Error)
    throw failed('The private key of the credential cannot be read. Check its format and its passphrase.')
  const untried = new Set<string>()
  if (privateKey !== undefined) untried.add('publickey')
  if (password !== undefined) untried.add('password').add('keyboard-interactive')
  let isPasswordSent = false
  return {
    user: () => username,
    async next(methods) {
      if (methods === null) return { type: 'none', username }
      // A device that names no methods gets each of them.
      const type = [...untried].find((one) => methods.length === 0 || methods.includes(one))
      if (type === undefined || (type !== 'publickey' && isPasswordSent && !methods.includes(type)))
        throw failed(`The device rejected the credential. It accepts: ${methodList(methods)}.`)
      untried.delete(type)
      if (type === 'publickey') return { type, username, key: privateKey ?? '', ...(passphrase && { passphrase }) }
      if (type === 'password') {
        // The password is sent once, because many devices lock an account after a few attempts.
        untried.delete('keyboard-interactive')
        return { type, username, password: password ?? '' }
      }
      return {
        type: 'keyboard-interactive',
        username,
        prompt: (_name, _instructions, _language, prompts, finish) => {
          const isPassword = prompts.length === 1 && prompts[0]?.echo !== true && !isPasswordSent
          isPasswordSent ||= isPassword
          finish(isPassword ? [password ?? ''] : prompts.map(() => ''))
        },
      }
    },
  }
}

type Ask = (request: PromptRequest) => Promise<string[]>

/** Returns the sign-in with prompts: the user name, then what the device requests. */
export function promptSignIn(ask: Ask): SignIn {
  let username = ''
  let attempts = 0
  /** Whether the device failed a keyboard-interactive attempt without a prompt. Then the password method is used. */
  let isInteractiveUseless = false
  let promptsOfAttempt = 0
  let lastType = ''
  const rejected = () =>
    attempts === 0 ? '' : `The device rejected the sign-in. Attempt ${attempts + 1} of ${signInLimits.attempts}.`

  const interactive = (): AnyAuthMethod => ({
    type: 'keyboard-interactive',
    username,
    prompt: (name, instructions, _language, prompts, finish) => {
      promptsOfAttempt += 1
      if (promptsOfAttempt > signInLimits.rounds || prompts.length > signInLimits.prompts) return finish([])
      const request = {
        title: name.slice(0, signInLimits.characters),
        instructions: [rejected(), instructions]
          .filter((text) => text !== '')
          .join('\n')
          .slice(0, signInLimits.characters),
        prompts: prompts.map(promptOf),
      }
      // The stream was closed if there are no answers. The connection then ends.
      ask(request).then(finish, () => finish([]))
    },
  })

  return {
    user: () => username,
    async next(methods) {
      if (methods === null) {
        const [name = ''] = await ask({
          title: '',
          instructions: '',
          prompts: [{ text: 'User name', isSecret: false }],
        })
        username = name.trim()
        if (username === '') throw failed('The user name is empty.')
        return { type: 'none', username }
      }
      if (lastType === 'keyboard-interactive' && promptsOfAttempt === 0) isInteractiveUseless = true
      else if (lastType !== '') attempts += 1
      if (attempts >= signInLimits.attempts) throw failed(`The device rejected the sign-in ${attempts} times.`)
      promptsOfAttempt = 0
      if (methods.includes('keyboard-interactive') && !isInteractiveUseless) {
        lastType = 'keyboard-interactive'
        return interactive()
      }
      if (methods.length > 0 && !methods.includes('password'))
        throw failed(`The device does not accept a password. It accepts: ${methodList(methods)}. Select a credential.`)
      lastType = 'password'
      const [password = ''] = await ask({
        title: '',
        instructions: rejected(),
        prompts: [{ text: 'Password', isSecret: true }],
      })
      return { type: 'password', username, password }
    },
  }
}

function promptOf({ prompt, echo }: Prompt): PromptRequest['prompts'][number] {
  return { text: prompt.slice(0, signInLimits.characters), isSecret: echo !== true }
}

/** Returns the fields of a credential. Errors do not contain values. */
function fieldsOf(secret: Secret): CredentialFields {
  let fields: Record<string, unknown> = {}
  try {
    fields = Object(JSON.parse(secret.reveal()))
  } catch {
    // A text that is not JSON has no fields, which is an error below.
  }
  const text = (...names: string[]) =>
    names.map((name) => fields[name]).find((one) => typeof one === 'string' && one !== '')
  const username = text('username')
  const password = text('password')
  const privateKey = text('private_key', 'privateKey')
  const passphrase = text('passphrase')
  if (typeof username !== 'string' || (password === undefined && privateKey === undefined))
    throw failed(
      'The credential cannot be used for ssh. It must contain "username" and "password", or "username" and "private_key".',
    )
  return {
    username,
    ...(typeof password === 'string' && { password }),
    ...(typeof privateKey === 'string' && { privateKey }),
    ...(typeof passphrase === 'string' && { passphrase }),
  }
}

function methodList(methods: readonly string[]): string {
  return methods.length === 0 ? 'no method' : methods.slice(0, 8).join(', ').slice(0, 200)
}

function failed(detail: string): StreamRefusal {
  return new StreamRefusal({ code: 'authentication_failed', detail })
}
