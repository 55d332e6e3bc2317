import type { Page } from 'playwright-core'
import { follow } from './console.ts'
import type { Caller } from './platform.ts'

/** This file sets up step-up for credentials, for tests of the dialog "Confirm your identity" in the console. */

/** Requires a confirmation that is not older than one minute for credentials. Creates the schema of `createCredential`. */
export async function requireStepUpForCredentials(admin: Caller): Promise<void> {
  await admin.identity.updateSignInPolicy({ body: { data: { stepUp: ['credentials'], stepUpMinutes: 1 } } })
  await admin.credentials.createSchema({
    query: { resourceIdentifier: 'example.link', resourceVersion: '1.0.0' },
    body: {
      data: {
        uri: 'https://plant.example/credentials/any',
        schema: { type: 'object', properties: { user: { type: 'string', title: 'User' } } },
      },
    },
  })
}

/** Fills in and submits the form for new credentials. */
export async function createCredential(page: Page, name: string): Promise<void> {
  await follow(page, '/credentials?add=yes')
  await page.getByRole('dialog').getByLabel('Name').fill(name)
  await page.getByLabel('IP addresses').fill('192.0.2.0/24')
  await page.getByRole('button', { name: 'Save' }).click()
}
