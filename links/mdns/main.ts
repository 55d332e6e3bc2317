import { runLink } from '@millwright/link-sdk/run-link.ts'
import { link } from './link.ts'

await runLink(link)
