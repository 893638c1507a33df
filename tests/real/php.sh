#!/bin/bash
# SPDX-License-Identifier: MIT
# php.sh BUILD_DIR -- php with its extensions, which it opens with RTLD_DEEPBIND: arrays, strings,
# JSON, regular expressions, generators, every block from malloc.
. "$(dirname "$0")/lib.sh"
need php

cat >"$work/script.php" <<'END'
<?php
$count = [];
$text = '';
for ($i = 1; $i <= 200000; $i++) {
    $key = 'k' . ($i * 7919 % 30011);
    $count[$key] = ($count[$key] ?? 0) + 1;
    if ($i % 3 == 0)
        $text .= "$key;";
}
arsort($count);
ksort($count);
$round = json_decode(json_encode($count), true);
echo count($round), ' ', md5(serialize($round)), "\n";
echo preg_match_all('/k(\d+);/', $text, $found), ' ', strlen(implode(',', $found[1])), "\n";
function squares() { for ($i = 0; $i < 1000; $i++) yield $i => str_repeat('x', $i % 50); }
echo strlen(implode('', iterator_to_array(squares()))), "\n";
echo ctype_digit('123') ? 'extensions' : 'none', "\n";
END
USE_ZEND_ALLOC=0 same php php "$work/script.php"
