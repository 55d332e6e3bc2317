import { type BuiltInWorkflowName, isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import { type Messages, messages } from '../../app/language/language.ts'

/** What the workflows that come with the product are called; those of a tenant have the name it gave them. */
export const workflowNames: Messages<Record<BuiltInWorkflowName, string>> = messages({
  en: {
    'artefact-update': 'Firmware update',
    'device-info': 'Questions to a device',
    discovery: 'Discovery',
    'link-inventory': 'Links of a gateway',
    'remote-access': 'Remote access',
  },
  de: {
    'artefact-update': 'Firmware-Aktualisierung',
    'device-info': 'Fragen an ein Gerät',
    discovery: 'Gerätesuche',
    'link-inventory': 'Links eines Gateways',
    'remote-access': 'Fernzugriff',
  },
})

export function workflowName(name: string, names: Readonly<Record<BuiltInWorkflowName, string>>): string {
  return isBuiltInWorkflow(name) ? names[name] : name
}
