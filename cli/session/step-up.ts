import { client, type Transport } from '@millwright/api/client.ts'
import type { ResultOf } from '@millwright/api/contract.ts'
import { identity } from '@millwright/api/identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { CommandError, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Bearer } from './bearer.ts'
import { signInWithBrowser } from './browser-sign-in.ts'
import { endSession } from './token-endpoint.ts'

/** How often the command prompts after a wrong password or code. */
const maxAttempts = 3

type StepUpOptions = {
  terminal: Terminal
  bearer: Bearer
  /** Returns a transport that sends requests with this token only. */
  transport(token: string): Transport
}

type Methods = ResultOf<(typeof identity.operations)['startStepUp']>['data']['methods']

/**
 * Lets the user confirm their identity, so that the next token of the profile allows dangerous actions. A password or
 * code is typed in the terminal. Passkeys and identity providers need a browser, so the user signs in again there.
 */
export async function confirmIdentity({ terminal, bearer, transport }: StepUpOptions): Promise<void> {
  if (bearer.replaceTokens === undefined) {
    throw new Problem(
      'step_up_required',
      `Only the profile of a user can confirm an identity, and the command uses ${bearer.from}`,
    )
  }
  if (!terminal.isInteractive) {
    throw new Problem('step_up_required', 'The command cannot prompt you, because standard input is not a terminal')
  }
  const api = client(identity, transport(await bearer.token()))
  const { methods } = (await api.startStepUp({})).data
  terminal.note('Confirm your identity to continue.')
  const needsBrowser = methods.includes('passkey') || methods.includes('provider')
  const question = questionFor(methods)
  for (let attempt = 1; question !== undefined; attempt++) {
    const text = await terminal.promptSecret(question)
    if (text.trim() === '') {
      if (needsBrowser) break
      throw notConfirmed('You entered nothing.')
    }
    const data = methods.includes('password') ? { password: text } : { code: text.trim() }
    const error = await api.stepUp({ body: { data } }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error === undefined) return
    if (!isWrongAnswer(error) || attempt === maxAttempts) throw error
    terminal.note(error.code === 'wrong_code' ? 'Wrong code. Try again.' : 'Wrong password. Try again.')
  }
  await signInAgain({ terminal, bearer, transport })
}

/** Returns the question for the methods that work in a terminal, or undefined if only a browser can be used. */
function questionFor(methods: Methods): string | undefined {
  if (methods.includes('password')) return 'Password: '
  const codes = [
    ...(methods.includes('totp') ? ['code of your authenticator app'] : []),
    ...(methods.includes('recovery-code') ? ['recovery code'] : []),
  ].join(' or ')
  if (codes === '') return undefined
  const browser = methods.includes('passkey') ? ', or press Enter to use a passkey in the browser' : ''
  return `${codes.charAt(0).toUpperCase()}${codes.slice(1)}${browser}: `
}

function isWrongAnswer(error: unknown): error is Problem {
  return error instanceof Problem && (error.code === 'wrong_code' || error.code === 'wrong_password')
}

function notConfirmed(sentence: string): CommandError {
  return new CommandError(`${sentence} Your identity is not confirmed.`, {
    exitCode: exitCodes.denied,
    next: 'run the command again',
  })
}

/** Signs in with the browser again, as the same user, and replaces the tokens of the profile. */
async function signInAgain({ terminal, bearer, transport }: StepUpOptions): Promise<void> {
  const { sub, tenant_name: tenant } = await userInfo(transport(await bearer.token()))
  const tokens = await signInWithBrowser(terminal, { url: bearer.url, opensBrowser: true, tenant, prompt: 'login' })
  if ((await userInfo(transport(tokens.accessToken))).sub !== sub) {
    if (tokens.refreshToken !== undefined) await endSession(bearer.url, tokens.refreshToken)
    throw notConfirmed('You signed in as another user.')
  }
  await bearer.replaceTokens?.(tokens)
}

function userInfo(transport: Transport) {
  return client(identity, transport).userInfo({})
}
