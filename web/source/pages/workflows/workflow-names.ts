import { type BuiltInWorkflowName, isBuiltInWorkflow } from '@millwright/api/built-in-workflows.ts'
import { type Messages, messages } from '../../app/language/language.ts'

/** Display names of the built-in workflows. Custom workflows keep their name. */
export const workflowNames: Messages<Record<BuiltInWorkflowName, string>> = messages({
  en: {
    'artefact-update': 'Firmware update',
    'device-info': 'Device read',
    discovery: 'Scan',
    'link-inventory': 'Asset link inventory',
    'remote-access': 'Remote access',
  },
  de: {
    'artefact-update': 'Firmware-Update',
    'device-info': 'Gerät auslesen',
    discovery: 'Suchlauf',
    'link-inventory': 'Asset-Link-Inventar',
    'remote-access': 'Fernzugriff',
  },
})

export function workflowName(name: string, names: Readonly<Record<BuiltInWorkflowName, string>>): string {
  return isBuiltInWorkflow(name) ? names[name] : name
}
