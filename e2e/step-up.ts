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

/** Fills in the steps of new credentials and saves them. */
export async function createCredential(page: Page, name: string): Promise<void> {
  await follow(page, '/credentials?add=yes')
  const dialog = page.getByRole('dialog', { name: 'Add credentials' })
  await dialog.getByRole('button', { name: 'Next' }).click()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Next' }).click()
  await dialog.getByLabel('IP addresses').fill('192.0.2.0/24')
  await saveCredential(page)
}

export async function saveCredential(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Save and continue' }).click()
}

/** Waits until the credentials are saved, ends the dialog without a test, and waits for the page of the credentials. */
export async function endCredential(page: Page, name: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}
