/* SPDX-License-Identifier: MIT
 * help_completion.c -- writes completion scripts for bash, zsh and fish from the option table. */
#include <string.h>

#include "cli/help/help.h"

/* Kind of a value, derived from its name in the help.  The functions that offer values in the
 * scripts carry the name of the kind. */
static const char *kind_of(const char *name) {
	static const char *const kinds[][2] = {{"SETTING", "settings"}, {"TARGET", "targets"},
					       {"BEFORE", "targets"},   {"PID", "targets"},
					       {"PROGRAM", "programs"}, {"FILE", "files"},
					       {"DIR", "files"},        {"SUBCOMMAND", "names"}};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(name, kinds[i][0]) != NULL)
			return kinds[i][1];
	return "nothing";
}

/* Options that are written once, and the subcommands that have them. */
typedef struct group {
	char names[512];
	const mw_option_t *options;
} group_t;

static void name_group(group_t *out, const mw_subcommand_t *subcommand, const char *between) {
	size_t used = strlen(out->names);
	snprintf(out->names + used, sizeof(out->names) - used, "%s%s", used ? between : "",
		 subcommand->name);
}

/* Fills in group number `i`: first the own options of each subcommand, then the additional
 * options of each, then the shared options with all their subcommands.  False: there is no such
 * group. */
static bool get_group(size_t i, const char *between, group_t *out) {
	*out = (group_t){.options = NULL};
	if (i < 2 * mw_commands()->subcommand_count) {
		static const mw_option_t none[1];
		const mw_subcommand_t *subcommand =
			&mw_commands()->subcommands[i % mw_commands()->subcommand_count];
		const mw_option_t *more = subcommand->more ? subcommand->more : none;
		name_group(out, subcommand, between);
		out->options = i < mw_commands()->subcommand_count ? subcommand->options : more;
		return true;
	}
	for (size_t k = 0;
	     i == 2 * mw_commands()->subcommand_count && k < mw_commands()->subcommand_count; k++)
		if (mw_commands()->subcommands[k].shared != NULL) {
			name_group(out, &mw_commands()->subcommands[k], between);
			out->options = mw_commands()->subcommands[k].shared;
		}
	return out->options != NULL;
}

static void print_groups(FILE *out, const char *between,
			 void (*print)(FILE *out, const group_t *group)) {
	group_t group;
	for (size_t i = 0; get_group(i, between, &group); i++)
		if (group.options[0].name != NULL)
			print(out, &group);
}

static void print_names(FILE *out) {
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++)
		fprintf(out, "%s ", mw_commands()->subcommands[i].name);
}

static void print_settings(FILE *out) {
	fputs("rate= dump_name="
#define MW_SETTING(name, ...) " " #name "="
#include "state/settings.def"
#undef MW_SETTING
	      ,
	      out);
}

/* Prints the choices "a|b|c" separated by spaces. */
static void print_choices(FILE *out, const char *choices) {
	for (; *choices; choices++)
		fputc(*choices == '|' ? ' ' : *choices, out);
}

static void print_bash_group(FILE *out, const group_t *group) {
	fprintf(out, "\tcase $1 in\n\t%s)\n\t\toptions+=\"", group->names);
	for (const mw_option_t *option = group->options; option->name; option++)
		if (mw_option_is_shown(option))
			fprintf(out, "--%s%s ", option->name, option->value != NULL ? "=" : "");
	fputs("\"\n\t\tcase $2 in\n", out);
	for (const mw_option_t *option = group->options; option->name; option++) {
		if (option->value == NULL || !mw_option_is_shown(option))
			continue;
		if (option->letter != 0)
			fprintf(out, "\t\t-%c | --%s) ", option->letter, option->name);
		else
			fprintf(out, "\t\t--%s) ", option->name);
		if (option->choices != NULL) {
			fputs("kind=words words='", out);
			print_choices(out, option->choices);
			fputs("' ;;\n", out);
		} else {
			fprintf(out, "kind=%s ;;\n", kind_of(option->value));
		}
	}
	fputs("\t\tesac ;;\n\tesac\n", out);
}

static void print_bash(FILE *out) {
	fputs("# bash completion of mallow, written by: mallow help --completion bash\n"
	      "# _mallow_table SUBCOMMAND OPTION: its options and operands, and what OPTION "
	      "takes.\n"
	      "_mallow_table() {\n",
	      out);
	print_groups(out, " | ", print_bash_group);
	fputs("\tcase $1 in\n", out);
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++)
		fprintf(out, "\t%s) operands=%s ;;\n", mw_commands()->subcommands[i].name,
			kind_of(mw_commands()->subcommands[i].operands));
	fputs("\tesac\n}\n"
	      "_mallow_words() { COMPREPLY+=($(compgen -W \"$1\" -- \"$word\")); }\n"
	      "_mallow_lines() {\n"
	      "\tlocal lines\n"
	      "\tmapfile -t lines < <(compgen \"$@\" -- \"$word\")\n"
	      "\tCOMPREPLY+=(\"${lines[@]}\")\n"
	      "\tcompopt -o filenames 2>/dev/null\n"
	      "}\n"
	      "_mallow_targets() {\n"
	      "\tlocal pid name\n"
	      "\twhile IFS=$'\\t' read -r pid name; do\n"
	      "\t\tif [[ $pid == \"$word\"* ]]; then\n"
	      "\t\t\tCOMPREPLY+=(\"$pid  $name\")\n"
	      "\t\telif [[ $name == \"$word\"* && $name != *[![:alnum:]._+-]* ]]; then\n"
	      "\t\t\tCOMPREPLY+=(\"$name\")\n"
	      "\t\tfi\n"
	      "\tdone < <(\"${COMP_WORDS[0]}\" ls --brief 2>/dev/null)\n"
	      "}\n"
	      "_mallow() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal names='",
	      out);
	print_names(out);
	fputs("' options='--help ' kind='' words='' operands=names\n"
	      "\tCOMPREPLY=()\n"
	      "\t# bash makes a word of the = in --option=value.\n"
	      "\tif [[ $word == = ]]; then\n"
	      "\t\tword=''\n"
	      "\telif [[ $before == = ]]; then\n"
	      "\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tif ((COMP_CWORD > 1)); then\n"
	      "\t\t_mallow_table \"${COMP_WORDS[1]}\" \"$before\"\n"
	      "\telse\n"
	      "\t\toptions+=--version\n"
	      "\tfi\n"
	      "\tif [[ -z $kind && $word == -* ]]; then\n"
	      "\t\tkind=words words=$options\n"
	      "\tfi\n"
	      "\tcase ${kind:-$operands} in\n"
	      "\twords) _mallow_words \"$words\" ;;\n"
	      "\tnames) _mallow_words \"$names\" ;;\n"
	      "\tfiles) _mallow_lines -f ;;\n"
	      "\tprograms) _mallow_lines -c; _mallow_lines -f ;;\n"
	      "\ttargets) _mallow_targets; _mallow_lines -f ;;\n"
	      "\tsettings) _mallow_targets; _mallow_words '",
	      out);
	print_settings(out);
	fputs("' ;;\n"
	      "\tesac\n"
	      "\t# Who has one pid to choose needs no name behind it.\n"
	      "\tif ((${#COMPREPLY[@]} == 1)); then\n"
	      "\t\tCOMPREPLY=(\"${COMPREPLY[0]%%  *}\")\n"
	      "\tfi\n"
	      "\tif [[ ${COMPREPLY[0]-} == *= ]]; then\n"
	      "\t\tcompopt -o nospace 2>/dev/null\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _mallow mallow\n",
	      out);
}

/* Prints text inside single quotes of zsh or fish.  Brackets and colons, which would end a zsh
 * description, are replaced. */
static void print_quoted(FILE *out, const char *text) {
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(strchr("[]:\n", *text) ? ' ' : *text, out);
	}
}

/* Prints the part of an _arguments(zsh) entry that completes the option's value. */
static void print_zsh_value(FILE *out, const mw_option_t *option) {
	if (option->value == NULL)
		return;
	fputc(':', out);
	print_quoted(out, option->value);
	if (option->choices == NULL) {
		fprintf(out, ":_mallow_%s", kind_of(option->value));
		return;
	}
	fputs(":(", out);
	print_choices(out, option->choices);
	fputc(')', out);
}

static void print_zsh_group(FILE *out, const group_t *group) {
	fprintf(out, "\tcase $words[1] in\n\t%s) specs+=(\n", group->names);
	for (const mw_option_t *option = group->options; option->name; option++) {
		if (!mw_option_is_shown(option))
			continue;
		const char *again = mw_option_kind(option) == MW_OPTION_LIST ? "*" : "";
		fprintf(out, "\t\t'%s--%s%s[", again, option->name, option->value ? "=" : "");
		print_quoted(out, option->help);
		fputc(']', out);
		print_zsh_value(out, option);
		fputs("'\n", out);
		if (option->letter == 0)
			continue;
		fprintf(out, "\t\t'%s-%c[", again, option->letter);
		print_quoted(out, option->help);
		fputc(']', out);
		print_zsh_value(out, option);
		fputs("'\n", out);
	}
	fputs("\t) ;;\n\tesac\n", out);
}

static void print_zsh(FILE *out) {
	fputs("#compdef mallow\n"
	      "# zsh completion of mallow, written by: mallow help --completion zsh\n"
	      "_mallow_nothing() { _message value }\n"
	      "_mallow_files() { _files }\n"
	      "_mallow_programs() { _normal }\n"
	      "_mallow_targets() {\n"
	      "\tlocal -aU processes\n"
	      "\tprocesses=(${(f)\"$(mallow ls --brief 2>/dev/null | "
	      "awk -F '\\t' '{ gsub(/:/, \"\\\\:\", $2); print $1 \":\" $2; print $2 \":process\" "
	      "}')\"})\n"
	      "\t_describe process processes\n"
	      "\t_files\n"
	      "}\n"
	      "_mallow_settings() {\n"
	      "\tcompadd -S '' -- ",
	      out);
	print_settings(out);
	fputs("\n\t_mallow_targets\n"
	      "}\n"
	      "_mallow_names() {\n"
	      "\tlocal -a names=(\n",
	      out);
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++) {
		fprintf(out, "\t\t'%s:", mw_commands()->subcommands[i].name);
		print_quoted(out, mw_commands()->subcommands[i].summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\t_describe subcommand names\n"
	      "}\n"
	      "_mallow() {\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_mallow_names\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tlocal -a specs=('(- *)'{-h,--help}'[show this help]')\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n",
	      out);
	print_groups(out, "|", print_zsh_group);
	fputs("\tcase $words[1] in\n", out);
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++)
		fprintf(out, "\t%s) specs+=('*:%s operand:_mallow_%s') ;;\n",
			mw_commands()->subcommands[i].name,
			mw_commands()->subcommands[i].ends_at_operand ? ":" : "",
			kind_of(mw_commands()->subcommands[i].operands));
	fputs("\tesac\n"
	      "\t_arguments -s $specs\n"
	      "}\n"
	      "_mallow \"$@\"\n",
	      out);
}

static void print_fish_group(FILE *out, const group_t *group) {
	for (const mw_option_t *option = group->options; option->name; option++) {
		if (!mw_option_is_shown(option))
			continue;
		fprintf(out, "complete -c mallow -n '__fish_seen_subcommand_from %s' -l %s",
			group->names, option->name);
		if (option->letter != 0)
			fprintf(out, " -s %c", option->letter);
		const char *kind = option->value ? kind_of(option->value) : NULL;
		if (option->choices != NULL) {
			fputs(" -xa '", out);
			print_choices(out, option->choices);
			fputc('\'', out);
		} else if (kind != NULL) {
			fprintf(out, " %s '(__mallow_%s)'",
				strcmp(kind, "nothing") == 0 ? "-xa" : "-rFa", kind);
		}
		fputs(" -d '", out);
		print_quoted(out, option->help);
		fputs("'\n", out);
	}
}

static void print_fish_operands(FILE *out, const mw_subcommand_t *subcommand) {
	fprintf(out, "complete -c mallow -n __fish_use_subcommand -a %s -d '", subcommand->name);
	print_quoted(out, subcommand->summary);
	const char *kind = kind_of(subcommand->operands);
	bool takes_files = strcmp(kind, "nothing") != 0 && strcmp(kind, "names") != 0;
	fprintf(out,
		"'\ncomplete -c mallow -n '__fish_seen_subcommand_from %s' %s '(__mallow_%s)'\n",
		subcommand->name, takes_files ? "-Fa" : "-a", kind);
}

static void print_fish(FILE *out) {
	fputs("# fish completion of mallow, written by: mallow help --completion fish\n"
	      "function __mallow_nothing\nend\n"
	      "function __mallow_files\nend\n"
	      "function __mallow_programs\n"
	      "\t__fish_complete_subcommand --fcs-skip=2\n"
	      "end\n"
	      "function __mallow_targets\n"
	      "\tmallow ls --brief 2>/dev/null | "
	      "awk -F '\\t' '{ print $1 \"\\t\" $2; print $2 \"\\tprocess\" }'\n"
	      "end\n"
	      "function __mallow_settings\n"
	      "\t__mallow_targets\n"
	      "\tprintf '%s\\n' ",
	      out);
	print_settings(out);
	fputs("\nend\n"
	      "function __mallow_names\n"
	      "\tprintf '%s\\n' ",
	      out);
	print_names(out);
	fputs("\nend\n"
	      "complete -c mallow -f\n",
	      out);
	for (size_t i = 0; i < mw_commands()->subcommand_count; i++)
		print_fish_operands(out, &mw_commands()->subcommands[i]);
	group_t group;
	for (size_t i = 0; get_group(i, " ", &group); i++)
		print_fish_group(out, &group);
}

void mw_help_print_completion(FILE *out, const char *shell) {
	if (strcmp(shell, "bash") == 0)
		print_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out);
	else
		print_fish(out);
}
