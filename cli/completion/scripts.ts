/** The scripts that shells load. They hand over what was typed on standard input, and show what comes back: never evaluated. */

const bash = `# bash completion for floe. Load it with: source <(floe completion bash)
_floe_complete() {
  local kind="" line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("$line"); fi
  done < <(printf '%s\\0%s\\0' "\${COMP_LINE:0:$COMP_POINT}" "$COMP_WORDBREAKS" | command floe __complete bash 2>/dev/null)
  if type compopt >/dev/null 2>&1; then
    [[ $kind == *open* ]] && compopt -o nospace
    [[ $kind == *files* ]] && compopt -o default
  fi
  return 0
}
complete -F _floe_complete floe
`;

const zsh = `#compdef floe
# zsh completion for floe. Load it with: source <(floe completion zsh)
_floe() {
  local kind="" line
  local -a values shown options
  while IFS= read -r line; do
    if [[ -z $kind ]]; then
      kind=$line
    else
      values+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  -- }")
    fi
  done < <(printf '%s\\0' "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" | command floe __complete zsh 2>/dev/null)
  [[ $kind == *open* ]] && options=(-S '')
  (( \${#values} )) && compadd -l "\${options[@]}" -d shown -a values
  [[ $kind == *files* ]] && _files
  return 0
}
if [[ $funcstack[1] == _floe ]]; then
  _floe "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _floe floe
fi
`;

const fish = `# fish completion for floe. Load it with: floe completion fish | source
function __floe_complete
    set -l words (commandline -opc)
    printf '%s\\0' $words[2..] (commandline -ct) | command floe __complete fish 2>/dev/null
end
function __floe_candidates
    set -l lines (__floe_complete)
    string match -q '*files*' -- $lines[1]; and __fish_complete_path (commandline -ct)
    test (count $lines) -gt 1; and printf '%s\\n' $lines[2..]
end
complete -c floe -f -k -a '(__floe_candidates)'
`;

const powershell = `# PowerShell completion for floe. Load it with: floe completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName floe -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
    ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
  $floe = Get-Command floe -CommandType Application, ExternalScript | Select-Object -First 1
  $lines = @((($before + @($wordToComplete)) -join [char]0) + [char]0 | & $floe __complete powershell 2>$null)
  $lines | Select-Object -Skip 1 | ForEach-Object {
    $value, $shown, $about = $_ -split "\\t", 3
    [System.Management.Automation.CompletionResult]::new($value, $shown, 'ParameterValue', $about)
  }
}
`;

export const completionScripts = { bash, zsh, fish, powershell } as const;
export type Shell = keyof typeof completionScripts;
export const shells = Object.keys(completionScripts) as Shell[];
export const isShell = (text: string): text is Shell => Object.hasOwn(completionScripts, text);
