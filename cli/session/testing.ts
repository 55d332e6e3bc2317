import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rightPassword } from '@millwright/cloud/services/identity/testing.ts'
import type { RunResult, TestPlatform } from '../testing.ts'
import type { Profile } from './profiles.ts'

/**
 * Acts as the browser: opens the address that a line contains, submits the form with the password, and follows the
 * redirect.
 */
export async function browse(
  { url }: TestPlatform,
  line: string,
  credentials: { name: string; password: string },
): Promise<Response | undefined> {
  const address = /http\S+\/oauth\/authorize\?\S+/.exec(line)?.[0]
  if (address === undefined) return undefined
  const form = await fetch(address)
  const cookie = form.headers.getSetCookie().map((line) => line.split(';')[0])
  const proof = /name="proof" value="([^"]+)"/.exec(await form.text())?.[1] ?? assert.fail('there is no form')
  const answer = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookie.join('; '), origin: url },
    body: new URLSearchParams({ ...credentials, proof }),
  })
  return fetch(answer.headers.get('location') ?? assert.fail(`the sign-in failed: ${answer.status}`))
}

/** Runs `millwright login` with a browser that submits the password of the test users. */
export async function signIn(
  platform: TestPlatform,
  name: string,
  ...args: string[]
): Promise<RunResult & { page: Response | undefined }> {
  const seen: Promise<Response | undefined>[] = []
  const ended = await platform.run(['login', platform.url, '--no-browser', ...args], {
    onNote: (line) => seen.push(browse(platform, line, { name, password: rightPassword })),
  })
  return { ...ended, page: (await Promise.all(seen)).find((one) => one !== undefined) }
}

export function profilesFolder({ folder }: TestPlatform): string {
  return join(folder, '.config/millwright/profiles')
}

export function readProfile(
  platform: TestPlatform,
  name = 'default',
): Profile & { refreshToken: string; renewAt: number } {
  return JSON.parse(readFileSync(join(profilesFolder(platform), `${name}.json`), 'utf8'))
}

export function changeProfile(platform: TestPlatform, changes: object, name = 'default'): void {
  const text = JSON.stringify({ ...readProfile(platform, name), ...changes })
  writeFileSync(join(profilesFolder(platform), `${name}.json`), text)
}
